#include "core/estimator/contract/filled_up.h"

#include <optional>
#include <utility>

#include "core/estimator/contract/wrapped_stream.h"
#include "core/sharding/split.h"

namespace tpuest {
namespace {

class FilledUpStream final : public WrappedStream {
 public:
  FilledUpStream(std::unique_ptr<BatchStream> stream, int64_t from, int64_t rows)
      : WrappedStream(std::move(stream)), from_(from), rows_(rows) {}

  // Padding copies the first row, which only one part has.
  void TakeRows(int64_t /*first*/, int64_t /*count*/) override {}
  [[nodiscard]] std::optional<Batch> Next() override {
    std::optional<Batch> batch = of().Next();
    return batch && batch->examples == from_ ? FilledUp(*batch, rows_) : std::move(batch);
  }

 private:
  const int64_t from_;
  const int64_t rows_;
};

}  // namespace

Batch FilledUp(const Batch& batch, int64_t rows) {
  const auto fill = [rows](const Tensor& tensor) { return PadRows(tensor, rows); };
  Batch filled = batch;
  for (Tensor& feature : filled.features) feature = fill(feature);
  for (Tensor& present : filled.present) present = fill(present);
  filled.labels = filled.labels.Map(fill);
  filled.example_weight = ExampleWeight(batch.examples, rows);
  return filled;
}

std::unique_ptr<BatchStream> FilledUp(std::unique_ptr<BatchStream> stream, int64_t from,
                                      int64_t rows) {
  return std::make_unique<FilledUpStream>(std::move(stream), from, rows);
}

}  // namespace tpuest
