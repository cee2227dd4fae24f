#pragma once
// What is checked of every row of op cases. Each check states doctest CHECKs for one row.

#include "core/graph/graph.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {

// The ops of AllOps().
[[nodiscard]] const OpRegistry& TestRegistry();

// Shapes and dtypes that were inferred are those of the results.
void CheckShapes(const OpCase& op_case);
// Results and variables have the values that the row names.
void CheckExpected(const OpCase& op_case);
// In float64: the gradient that the graph computes is the slope of its results.
void CheckNumericGradient(const OpCase& op_case);
// double agrees with float, bfloat16 with float to its precision.
void CheckDTypes(const OpCase& op_case);
// Nodes survive GraphDef: names, ops, inputs, attributes, shapes, and then the bytes.
void CheckGraphDef(const OpCase& op_case);
// 100 rows in two blocks and in one: the same results and gradients.
void CheckRows(const OpCase& op_case);
// What the engine makes one step of gives what the steps gave, gradients too.
void CheckFusion(const OpCase& op_case);

}  // namespace tpuest
