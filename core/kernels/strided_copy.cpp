#include "core/kernels/strided_copy.h"

#include <cstring>
#include <string_view>

#include "core/base/error.h"

namespace tpuest {
namespace {

template <class T>
void CopyRun(const char* from, char* to, int64_t n, int64_t from_step, int64_t to_step) {
  T value;
  if (from_step == 0 && to_step == sizeof(T)) {
    std::memcpy(&value, from, sizeof(T));
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(&value, from + i * from_step, sizeof(T));
    std::memcpy(to + i * to_step, &value, sizeof(T));
  }
}

struct Bytes16 {
  uint64_t words[2];
};

}  // namespace

size_t ElementBytes(DType dtype) {
  return dtype == DType::kString ? sizeof(std::string_view) : SizeOf(dtype);
}

std::vector<int64_t> StridesOf(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (size_t d = strides.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * shape.dims()[d];
  }
  return strides;
}

StridedCopy::StridedCopy(const std::vector<int64_t>& dims, View from, View to, size_t element_bytes)
    : element_bytes_(element_bytes) {
  Check(from.strides.size() == dims.size() && to.strides.size() == dims.size());
  const auto bytes = static_cast<int64_t>(element_bytes);
  from_offset_ = from.offset * bytes;
  to_offset_ = to.offset * bytes;
  std::vector<Dim> merged;  // outermost first
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) runs_ = 0;
    if (dims[d] == 1) continue;
    const Dim dim{dims[d], from.strides[d] * bytes, to.strides[d] * bytes};
    if (!merged.empty() && merged.back().from == dim.from * dim.size &&
        merged.back().to == dim.to * dim.size) {
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    } else {
      merged.push_back(dim);
    }
  }
  if (!merged.empty()) {
    inner_ = merged.back();
    merged.pop_back();
  }
  outer_ = std::move(merged);
  for (const Dim& dim : outer_) runs_ *= dim.size;
}

void StridedCopy::Inner(const char* from, char* to) const {
  const auto bytes = static_cast<int64_t>(element_bytes_);
  if (inner_.size == 1 || (inner_.from == bytes && inner_.to == bytes)) {
    std::memcpy(to, from, static_cast<size_t>(inner_.size * bytes));
    return;
  }
  switch (element_bytes_) {
    case 1:
      return CopyRun<uint8_t>(from, to, inner_.size, inner_.from, inner_.to);
    case 2:
      return CopyRun<uint16_t>(from, to, inner_.size, inner_.from, inner_.to);
    case 4:
      return CopyRun<uint32_t>(from, to, inner_.size, inner_.from, inner_.to);
    case 8:
      return CopyRun<uint64_t>(from, to, inner_.size, inner_.from, inner_.to);
    case 16:
      return CopyRun<Bytes16>(from, to, inner_.size, inner_.from, inner_.to);
    default:
      Check(false, "no elements of {} bytes", element_bytes_);
  }
}

void StridedCopy::Run(const void* from_raw, void* to_raw) const {
  const char* from = static_cast<const char*>(from_raw) + from_offset_;
  char* to = static_cast<char*>(to_raw) + to_offset_;
  constexpr size_t kMaxDims = 16;
  Check(outer_.size() <= kMaxDims);
  int64_t at[kMaxDims] = {};
  for (int64_t r = 0; r < runs_; ++r) {
    Inner(from, to);
    for (size_t d = outer_.size(); d-- > 0;) {
      from += outer_[d].from;
      to += outer_[d].to;
      if (++at[d] < outer_[d].size) break;
      from -= outer_[d].from * outer_[d].size;
      to -= outer_[d].to * outer_[d].size;
      at[d] = 0;
    }
  }
}

}  // namespace tpuest
