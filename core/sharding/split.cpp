#include "core/sharding/split.h"

#include <algorithm>

namespace tpuest {
namespace {

Shape WithRows(const Shape& shape, int64_t rows) {
  Shape result = shape;
  result.set_dim(0, rows);
  return result;
}

// Copies all rows of `from` to `to` from row `begin` on.
void CopyRows(const Tensor& from, int64_t begin, Tensor& to) {
  if (from.elements() == 0) return;
  const auto row = static_cast<size_t>(from.elements() / from.shape().dim(0));
  const size_t at = static_cast<size_t>(begin) * row;
  if (from.dtype() == DType::kString) {
    std::copy(from.strings().begin(), from.strings().end(), to.strings().begin() + at);
    return;
  }
  std::memcpy(static_cast<char*>(to.raw()) + at * SizeOf(from.dtype()), from.raw(), from.bytes());
}

// Keeps the arenas of several string tensors alive together.
StringArena JoinedArena(const std::vector<Tensor>& parts) {
  auto arenas = std::make_shared<std::vector<StringArena>>();
  for (const Tensor& part : parts) arenas->push_back(part.arena());
  return arenas;
}

}  // namespace

std::vector<Tensor> SplitRows(const Tensor& batch, int replicas) {
  Check(batch.shape().rank() > 0, "a scalar has no rows to split");
  const int64_t rows = batch.shape().dim(0);
  Check(rows % replicas == 0, "{} rows over {} replicas", rows, replicas);
  const int64_t share = rows / replicas;
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>(replicas));
  for (int64_t r = 0; r < replicas; ++r) parts.push_back(batch.Rows(r * share, (r + 1) * share));
  return parts;
}

Tensor ConcatRows(const std::vector<Tensor>& parts) {
  Check(!parts.empty());
  if (parts.size() == 1) return parts.front();
  const Tensor& first = parts.front();
  int64_t rows = 0;
  for (const Tensor& part : parts) {
    Check(part.dtype() == first.dtype() && part.shape().rank() > 0 &&
              WithRows(part.shape(), 0) == WithRows(first.shape(), 0),
          "rows of {} and {}", first.shape().Text(), part.shape().Text());
    rows += part.shape().dim(0);
  }
  const Shape shape = WithRows(first.shape(), rows);
  Tensor whole =
      first.dtype() == DType::kString
          ? Tensor::Views(shape,
                          std::vector<std::string_view>(static_cast<size_t>(shape.elements())),
                          JoinedArena(parts))
          : Tensor(first.dtype(), shape);
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    CopyRows(part, begin, whole);
    begin += part.shape().dim(0);
  }
  return whole;
}

Tensor PadRows(const Tensor& batch, int64_t rows) {
  const int64_t missing = rows - batch.shape().dim(0);
  Check(missing >= 0 && batch.shape().dim(0) > 0, "{} to {} rows", batch.shape().Text(), rows);
  if (missing == 0) return batch;
  std::vector<Tensor> parts(static_cast<size_t>(missing) + 1, batch.Rows(0, 1));
  parts.front() = batch;
  return ConcatRows(parts);
}

Tensor ExampleWeight(int64_t examples, int64_t rows) {
  Tensor weight(DType::kFloat, {rows});
  std::fill_n(weight.data<float>(), std::min(examples, rows), 1.0F);
  return weight;
}

}  // namespace tpuest
