#pragma once
// The keys of slices of partitioned tensors in a bundle's index, as TensorFlow's
// EncodeTensorNameSlice makes them in its "ordered code" (lib/strings/ordered_code.h). The bytes of
// the keys sort as (0, name, rank, start and length of each dimension).

#include <cstdint>
#include <map>
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

// Slots of a variable in parts, as tf.train's optimizers save them when a partitioner is used
// (parameter servers). The parts of the variable are slices of one tensor, "w". Each part's slot is
// a separate tensor that has the whole variable's shape and stores one slice:
//
//   "w"              [13, 1]  slices of rows 0-4, 5-8 and 9-12
//   "w/part_0/Ftrl"  [13, 1]  a slice of rows 0-4
//   "w/part_1/Ftrl"  [13, 1]  a slice of rows 5-8
//   "w/part_2/Ftrl"  [13, 1]  a slice of rows 9-12
//
// DNN estimators of version 1 call the parts "t_0", "t_1", ...
//
// Groups the names that differ only in the number of their part. The key is the name of part 0,
// which must be among `names`: {"w/part_0/Ftrl": ["w/part_1/Ftrl", "w/part_2/Ftrl"]}.
[[nodiscard]] std::map<std::string, std::vector<std::string>> OtherParts(
    const std::vector<std::string>& names);

}  // namespace tpuest
