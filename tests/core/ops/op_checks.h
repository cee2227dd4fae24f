#pragma once
// The checks for every row of op cases. Each check runs doctest CHECKs for one row.

#include "core/graph/graph.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {

// The ops of AllOps().
[[nodiscard]] const OpRegistry& TestRegistry();

// Inferred shapes and dtypes are those of the results.
void CheckShapes(const OpCase& op_case);
// Results and variables have the values that the row gives.
void CheckExpected(const OpCase& op_case);
// The gradient that the graph computes is the derivative of its results, in float64.
void CheckNumericGradient(const OpCase& op_case);
// Results in double agree with those in float, and bfloat16 with float to its precision.
void CheckDTypes(const OpCase& op_case);
// Nodes are the same after GraphDef: names, ops, inputs, attributes, shapes, and then the bytes.
void CheckGraphDef(const OpCase& op_case);
// Batches of 100 rows in two blocks and in one give the same results and gradients.
void CheckRows(const OpCase& op_case);
// A fused op gives the same results and gradients as the ops that it replaces.
void CheckFusion(const OpCase& op_case);

}  // namespace tpuest
