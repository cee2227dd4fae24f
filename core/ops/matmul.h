#pragma once
// Matrix products.

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::ops {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

// a [n, k] times b [k, m] -> [n, m]; transposed operands are [k, n] and [m, k].
Value MatMul(Value a, Value b, const MatMulOptions& options = {}, std::string_view name = "");

// MatMul of each pair of matrices, the last two dimensions of x and y; their other dimensions are
// equal.
Value BatchMatMulV2(Value x, Value y, const MatMulOptions& options = {},
                    std::string_view name = "");

// The sum of products that an equation names: "abc,cd->abd". One or two inputs; "..." stands for
// axes that broadcast. An input may name a label twice, which takes its diagonal; it then has no
// gradient.
Value Einsum(const std::vector<Value>& inputs, std::string_view equation,
             std::string_view name = "");

OpFamily MatMulOps();
OpFamily BatchMatMulOps();
OpFamily EinsumOps();

}  // namespace tpuest::ops
