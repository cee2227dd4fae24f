#include "core/estimator/label_check.h"

#include "core/base/text.h"

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
    if (batch && batch->labels.valid() && batch->labels.dtype() != DType::kString) {
      CheckLabels(*batch);
    }
    return batch;
  }

 private:
  void CheckLabels(const Batch& batch) const {
    const Tensor& labels = batch.labels;
    const int64_t rows = labels.shape().rank() == 0 ? 1 : labels.shape().dim(0);
    const int64_t row_elements = rows == 0 ? 0 : labels.elements() / rows;
    for (int64_t i = 0; i < batch.examples * row_elements; ++i) {
      const double label = labels.AsDouble(i);
      // NaN is in no range.
      if (label >= range_.min && label <= range_.max) continue;
      const bool below = label < range_.min;
      throw Error(Code::kData,
                  fmt::format("{}label is {}: {}", Where(batch, i / row_elements),
                              NumberText(label), below ? range_.below : range_.above),
                  fmt::format("labels of this head go from {} to {}", NumberText(range_.min),
                              NumberText(range_.max)));
    }
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
