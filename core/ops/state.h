#pragma once
// Resource variables. `handle` is the output of a VarHandleOp. Graph::AddVariable makes it together
// with the ReadVariableOp that reads the value at the start of the step.

#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Reads the value after the nodes in its control inputs; without any, at the start of the step.
Value ReadVariableOp(Value handle, std::string_view name = "");
Node* AssignVariableOp(Value handle, Value value, std::string_view name = "");
Node* AssignAddVariableOp(Value handle, Value value, std::string_view name = "");
Node* AssignSubVariableOp(Value handle, Value value, std::string_view name = "");
Value VarIsInitializedOp(Value handle, std::string_view name = "");
// Returns handle[indices]: indices.shape + variable.shape[1:]. An index out of range is an Error
// kData. Its gradient is IndexedSlices with `distinct`, as for a lookup of categories.
Value ResourceGather(Value handle, Value indices, std::string_view name = "");
// ResourceGather for an update of the table by rows: if processes share the table (row_owners.h),
// each reads only the rows that it owns and gets ones for all others.
Value GatherOwnRows(Value handle, Value indices, std::string_view name = "");
// variable[indices[i]] += (-=) updates[i], in order; index -1 means no row.
Node* ResourceScatterAdd(Value handle, Value indices, Value updates, std::string_view name = "");
Node* ResourceScatterSub(Value handle, Value indices, Value updates, std::string_view name = "");
// variable[indices[i]] = updates[i]; index -1 means no row, and no other index may occur twice.
Node* ResourceScatterUpdate(Value handle, Value indices, Value updates, std::string_view name = "");

// The dtype and shape of a handle's variable.
[[nodiscard]] DType VariableDType(Value handle);
[[nodiscard]] const Shape& VariableShape(Value handle);

OpFamily StateOps();

}  // namespace tpuest::ops
