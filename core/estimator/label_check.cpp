#include "core/estimator/label_check.h"

namespace tpuest {
namespace {

class CheckedStream final : public BatchStream {
 public:
  CheckedStream(std::unique_ptr<BatchStream> stream, nn::LabelRange range)
      : stream_(std::move(stream)), range_(std::move(range)) {}

  [[nodiscard]] const StreamSpec& spec() const override { return stream_->spec(); }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return stream_->epoch_size(); }
  [[nodiscard]] bool endless() const override { return stream_->endless(); }
  void Seek(const StreamPosition& position) override { stream_->Seek(position); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return stream_->files(); }

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = stream_->Next();
    if (batch && batch->labels.valid()) CheckLabels(*batch);
    return batch;
  }

 private:
  void CheckLabels(const Batch& batch) const {
    const auto fault = nn::FindLabelFault(batch.labels, batch.examples, range_);
    if (!fault) return;
    throw Error(Code::kData, Where(batch, fault->row) + fault->message, nn::LabelHint(range_));
  }

  [[nodiscard]] std::string Where(const Batch& batch, int64_t row) const {
    if (static_cast<size_t>(row) >= batch.rows.size()) return "";
    const Provenance& from = batch.rows[static_cast<size_t>(row)];
    if (static_cast<size_t>(from.file) >= files().size()) {
      return fmt::format("record {}: ", from.record);
    }
    return fmt::format("{}: record {}: ", files()[static_cast<size_t>(from.file)], from.record);
  }

  std::unique_ptr<BatchStream> stream_;
  nn::LabelRange range_;
};

}  // namespace

InputFn WithLabelCheck(InputFn input_fn, nn::LabelRange range) {
  return [input_fn = std::move(input_fn), range = std::move(range)](const InputContext& context) {
    return std::make_unique<CheckedStream>(input_fn(context), range);
  };
}

}  // namespace tpuest
