#pragma once
// One step of a table's rows, by each of the optimizers of tables. In this order, for each row that
// a step looked up: its gradients are summed; the sum is clipped; a part of the row decays; the
// rule moves it; its weights are clipped. A row that was not looked up keeps its bits, and those of
// its slots (but for Adam that is not lazy, which moves it).

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/nn/optimizers/table_parameters.h"

namespace tpuest::nn {

// A slot lies beside its table in checkpoints, as TensorFlow's do: "<table>/Adam/m".
struct TableSlot {
  std::string_view ending;  // "Adam/m"
  double initial = 0.0;
};
[[nodiscard]] std::vector<TableSlot> SlotsOf(const TableOptimizer& optimizer);

// The gradients of some rows. No row is there twice; -1 is none.
struct RowGradients {
  Value indices;                 // int32 or int64 [n]
  std::vector<Value> gradients;  // float32 [n, D] each: applied one behind the other
  // bool [n] for each of them: where it is a gradient; empty: everywhere.
  std::vector<Value> there = {};
};

// The update of a table by those rows, at a rate float32 []. Slots are made where they are missing.
[[nodiscard]] Node* ApplyToRows(const TableOptimizer& optimizer, const Variable& table, Value rate,
                                const RowGradients& rows);

// The update of all rows by Adam that is not lazy: a gradient of the table's shape, and which rows
// are looked up, bool [rows]: these alone decay and are clipped.
[[nodiscard]] Node* ApplyToAll(const AdamParameters& optimizer, const Variable& table, Value rate,
                               Value gradient, Value there);

}  // namespace tpuest::nn
