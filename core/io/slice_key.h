#pragma once
// Keys under which a bundle's index holds the slices of partitioned tensors, as TensorFlow's
// EncodeTensorNameSlice makes them in its "ordered code" (lib/strings/ordered_code.h): their bytes
// sort as (0, name, rank, start and length of each dimension).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Elements start .. start + length - 1 of a dimension. {0, -1} is the whole dimension.
struct SliceExtent {
  int64_t start = 0;
  int64_t length = -1;
};

[[nodiscard]] std::string SliceKey(std::string_view name, const std::vector<SliceExtent>& slice);

// True for the keys that SliceKey makes; names of tensors never start with a zero byte.
[[nodiscard]] inline bool IsSliceKey(std::string_view key) {
  return !key.empty() && key.front() == '\0';
}

}  // namespace tpuest
