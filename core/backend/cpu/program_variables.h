#pragma once
// The variables of a program, found by their handle nodes.

#include <string>

#include "core/backend/backend.h"
#include "core/backend/rows/row_table.h"
#include "core/graph/graph.h"

namespace tpuest {

class ProgramVariables {
 public:
  // Keeps a reference to the store.
  explicit ProgramVariables(VariableStore& store) : store_(store) {}

  // The table of a variable; nullptr if it is not kept by rows.
  [[nodiscard]] const RowColumn* RowsOf(const Node& handle) const { return RowsOf(NameOf(handle)); }
  [[nodiscard]] const RowColumn* RowsOf(const std::string& name) const {
    return store_.tables().Find(name);
  }
  // Whether a lookup needs rows of other processes (row_owners.h), or would in a group.
  [[nodiscard]] bool AsksForRows(const Node& node) const {
    const RowColumn* const rows = RowsLookedUp(node);
    return rows != nullptr && rows->table->owners() != nullptr;
  }
  [[nodiscard]] bool MayAskForRows(const Node& node) const { return RowsLookedUp(node) != nullptr; }
  [[nodiscard]] bool UpdatesRows(const Node& node) const {
    return node.op().writes_rows && RowsOf(*node.input(0).node) != nullptr;
  }
  // The tracking of the variable's updates; nullptr if they are not tracked.
  [[nodiscard]] const RowWatch* WatchOf(const Node& handle) const {
    return store_.tables().FindWatch(NameOf(handle));
  }
  // The variable's memory; zeros if it was never set. The address is valid for the life of the
  // program: the store keeps it unless shape or dtype change, which needs another program.
  [[nodiscard]] void* MemoryOf(const Node& handle) const {
    const std::string& name = NameOf(handle);
    Check(RowsOf(handle) == nullptr, "{} is kept by rows, but an op reads it whole", name);
    if (!store_.Has(name)) {
      store_.Set(name, Tensor(handle.Attr<DType>("dtype"), handle.Attr<Shape>("shape")));
    }
    const Tensor& tensor = store_.Get(name);
    Check(tensor.shape() == handle.Attr<Shape>("shape"),
          "variable {} is {} in the store, {} in the graph", name, tensor.shape().Text(),
          handle.Attr<Shape>("shape").Text());
    return const_cast<void*>(tensor.raw());
  }

 private:
  [[nodiscard]] const RowColumn* RowsLookedUp(const Node& node) const {
    if (!node.op().looks_up_rows || node.HasAttr(kOwnRows)) return nullptr;
    return RowsOf(*BehindIdentities(node.input(0)).node);
  }
  static const std::string& NameOf(const Node& handle) {
    return handle.Attr<std::string>("shared_name");
  }

  VariableStore& store_;
};

}  // namespace tpuest
