#pragma once
// Values of a node's attributes, equivalent to TensorFlow's AttrValue.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// The name of a function in a GraphDef's library.
struct FunctionRef {
  std::string name;
  bool operator==(const FunctionRef&) const = default;
};

using AttrValue = std::variant<int64_t, float, bool, std::string, DType, Shape, Tensor, FunctionRef,
                               std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                               std::vector<std::string>, std::vector<DType>, std::vector<Shape>>;
using Attrs = std::map<std::string, AttrValue>;

// True if the values have the same kind and are equal; tensors are compared by their bits.
[[nodiscard]] bool SameAttr(const AttrValue& a, const AttrValue& b);

}  // namespace tpuest
