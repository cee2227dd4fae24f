#pragma once
// One step of a table's rows, by each table optimizer. For each row that a step looked up, in this
// order: its gradients are summed; the sum is clipped; the row decays; the rule moves it; its
// weights are clipped. All other rows keep their bits, and so do their slots; only Adam that is not
// lazy moves them.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/nn/optimizers/table_parameters.h"

namespace tpuest::nn {

// A slot is saved beside its table, under TensorFlow's name: "<table>/Adam/m".
struct TableSlot {
  std::string_view ending;  // "Adam/m"
  double initial = 0.0;
};
[[nodiscard]] std::vector<TableSlot> SlotsOf(const TableOptimizer& optimizer);

// The gradients of some rows. No row occurs twice; -1 means no row.
struct RowGradients {
  Value indices;                 // int32 or int64 [n]
  std::vector<Value> gradients;  // float32 [n, D] each, applied one after another
  // bool [n] per gradient: true for rows that have it. If empty, every row has every gradient.
  std::vector<Value> there = {};
};

// Updates those rows of a table at `rate`, float32 []. Makes missing slots.
[[nodiscard]] Node* ApplyToRows(const TableOptimizer& optimizer, const Variable& table, Value rate,
                                const RowGradients& rows);

// Updates all rows by Adam that is not lazy. The gradient has the table's shape; a bool [rows]
// marks the rows that were looked up, and only these decay and are clipped.
[[nodiscard]] Node* ApplyToAll(const AdamParameters& optimizer, const Variable& table, Value rate,
                               Value gradient, Value there);

}  // namespace tpuest::nn
