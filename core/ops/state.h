#pragma once
// Resource variables. `handle` is a VarHandleOp's output; Graph::AddVariable makes it, and the one
// ReadVariableOp that sees the value at the start of the step.

#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The value after the nodes in its control inputs; at the start of the step if it has none.
Value ReadVariableOp(Value handle, std::string_view name = "");
Node* AssignVariableOp(Value handle, Value value, std::string_view name = "");
Node* AssignAddVariableOp(Value handle, Value value, std::string_view name = "");
Node* AssignSubVariableOp(Value handle, Value value, std::string_view name = "");
Value VarIsInitializedOp(Value handle, std::string_view name = "");
// handle[indices]: indices.shape + variable.shape[1:]. An index outside is an Error kData. Its
// gradient is that of a lookup of categories: IndexedSlices::distinct.
Value ResourceGather(Value handle, Value indices, std::string_view name = "");
// The same for an update of the table by rows: where processes share it (row_owners.h) each needs
// the rows that it owns, and others' are ones.
Value GatherOwnRows(Value handle, Value indices, std::string_view name = "");
// variable[indices[i]] += (-=) updates[i], in order; index -1 is no row.
Node* ResourceScatterAdd(Value handle, Value indices, Value updates, std::string_view name = "");
Node* ResourceScatterSub(Value handle, Value indices, Value updates, std::string_view name = "");
// variable[indices[i]] = updates[i]; index -1 is no row, and no other may be there twice.
Node* ResourceScatterUpdate(Value handle, Value indices, Value updates, std::string_view name = "");

// The dtype and shape of the variable behind a handle.
[[nodiscard]] DType VariableDType(Value handle);
[[nodiscard]] const Shape& VariableShape(Value handle);

OpFamily StateOps();

}  // namespace tpuest::ops
