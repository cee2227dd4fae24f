#include "core/estimator/step/model/label_check.h"

#include "core/estimator/contract/wrapped_stream.h"

namespace tpuest {
namespace {

class CheckedStream final : public WrappedStream {
 public:
  CheckedStream(std::unique_ptr<BatchStream> stream, const nn::Labels<nn::LabelRange>& ranges)
      : WrappedStream(std::move(stream)),
        ranges_(ranges.Map([&](const std::string& head, const nn::LabelRange& range) {
          return IsList(head) ? RangeOfLists(range) : range;
        })) {}

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = of().Next();
    if (!batch || batch->labels.is_dict() != ranges_.is_dict()) return batch;
    for (const auto& [head, label] : batch->labels) {
      const nn::LabelRange* const range = RangeOf(head);
      if (range != nullptr) CheckLabel(*batch, head, label, *range);
    }
    return batch;
  }

 private:
  // Whether the examples of a head have labels of any length.
  [[nodiscard]] bool IsList(const std::string& head) const {
    const nn::Labels<TensorSpec>& labels = of().spec().labels;
    if (!labels.valid() || labels.is_dict() == head.empty()) return false;
    const TensorSpec* const label = head.empty() ? &labels.only() : labels.Find(head);
    return label != nullptr && !label->shape.fully_known();
  }
  [[nodiscard]] const nn::LabelRange* RangeOf(const std::string& head) const {
    if (ranges_.is_dict()) return ranges_.Find(head);
    return ranges_.valid() ? &ranges_.only() : nullptr;
  }

  void CheckLabel(const Batch& batch, const std::string& head, const Tensor& label,
                  const nn::LabelRange& range) const {
    const int64_t here = batch.whole_rows > 0 ? label.shape().dim(0) : batch.examples;
    const auto fault = nn::FindLabelFault(label, here, range);
    if (!fault) return;
    const std::string of_head = head.empty() ? "" : fmt::format("head '{}': ", head);
    throw Error(Code::kData, Where(batch, batch.first_row + fault->row) + of_head + fault->message,
                nn::LabelHint(range));
  }

  [[nodiscard]] std::string Where(const Batch& batch, int64_t row) const {
    if (static_cast<size_t>(row) >= batch.rows.size()) return "";
    const Provenance& from = batch.rows[static_cast<size_t>(row)];
    if (static_cast<size_t>(from.file) >= files().size()) {
      return fmt::format("record {}: ", from.record);
    }
    return fmt::format("{}: record {}: ", files()[static_cast<size_t>(from.file)], from.record);
  }

  nn::Labels<nn::LabelRange> ranges_;
};

}  // namespace

InputFn WithLabelCheck(InputFn input_fn, nn::Labels<nn::LabelRange> ranges) {
  return [input_fn = std::move(input_fn), ranges = std::move(ranges)](const InputContext& context) {
    return std::make_unique<CheckedStream>(input_fn(context), ranges);
  };
}

}  // namespace tpuest
