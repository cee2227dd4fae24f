// Sources that need no file: values from the job, and ranges of integers.

#include "data/literal.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// The spec of one row of a tensor [records, ...].
TensorSpec RowSpec(const std::string& name, const Tensor& rows, const std::string& key) {
  const std::vector<int64_t>& dims = rows.shape().dims();
  return {name, rows.dtype(), Shape(std::vector<int64_t>(dims.begin() + 1, dims.end())), key};
}

class Slices final : public IndexedSource {
 public:
  Slices(std::vector<TensorSpec> columns, std::vector<Tensor> tensors)
      : IndexedSource(std::move(columns), {std::string(SlicesSource::kType)}),
        tensors_(std::move(tensors)) {}
  [[nodiscard]] int64_t size() const override { return tensors_.front().shape().dim(0); }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.columns.resize(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const int64_t count = columns()[i].shape.elements();
      const size_t width = tensors_[i].dtype() == DType::kString ? sizeof(std::string_view)
                                                                 : SizeOf(tensors_[i].dtype());
      // A row is a slice of the tensor: nothing is copied.
      const auto* const first = static_cast<const char*>(tensors_[i].raw());
      row.columns[i] = {first + static_cast<size_t>(index * count) * width, count};
    }
  }

 private:
  std::vector<Tensor> tensors_;  // [records, ...], as columns()
};

class Range final : public IndexedSource {
 public:
  Range(int64_t start, int64_t step, int64_t size)
      : IndexedSource({{"value", DType::kInt64, Shape()}}, {std::string(RangeSource::kType)}),
        start_(start),
        step_(step),
        size_(size) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.number = start_ + index * step_;
    row.columns.assign(1, {&row.number, 1});
  }

 private:
  int64_t start_;
  int64_t step_;
  int64_t size_;
};

}  // namespace

std::shared_ptr<IndexedSource> OpenSlices(const SlicesSource& options, const std::string& key) {
  std::vector<TensorSpec> columns;
  std::vector<Tensor> tensors;
  for (const auto& [name, raw] : options.values) {
    const std::string place = fmt::format("{}.values.{}", key, name);
    tensors.push_back(ParseLiteral(raw, place).Infer(place));
    const Shape& shape = tensors.back().shape();
    if (shape.rank() == 0) {
      throw Error(Code::kUsage,
                  fmt::format("\"{}\" is a single value; expected a list of rows", name))
          .Key(place);
    }
    if (shape.dim(0) != tensors.front().shape().dim(0)) {
      throw Error(
          Code::kUsage,
          fmt::format("\"{}\" has {} rows, \"{}\" has {}; expected equal numbers", name,
                      shape.dim(0), options.values.begin()->first, tensors.front().shape().dim(0)))
          .Key(place);
    }
    columns.push_back(RowSpec(name, tensors.back(), place));
  }
  if (tensors.empty()) {
    throw Error(Code::kUsage, "values is empty; expected at least one column").Key(key + ".values");
  }
  return std::make_shared<Slices>(std::move(columns), std::move(tensors));
}

std::shared_ptr<IndexedSource> OpenRange(const RangeSource& options, const std::string& key) {
  if (options.step == 0) {
    throw Error(Code::kUsage, "step is 0; expected another number").Key(key + ".step");
  }
  // The count is span / step rounded up, in 128 bits, so that the extremes of int64 do not
  // overflow.
  const __int128 span = static_cast<__int128>(options.stop) - options.start;
  const __int128 step = options.step;
  const __int128 size = (span + step - (step > 0 ? 1 : -1)) / step;
  const bool empty = step > 0 ? span <= 0 : span >= 0;
  return std::make_shared<Range>(options.start, options.step,
                                 empty ? 0 : static_cast<int64_t>(size));
}

}  // namespace tpuest::data
