#pragma once
// Derives from a model's graph its parts and the cost of a training step.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/backend/rows/row_keeping.h"
#include "core/estimator/step/model/model_builder.h"

namespace tpuest::cli {

struct LayerRow {
  std::string name;
  std::string type;
  Shape output;            // shape on one replica
  int64_t parameters = 0;  // numbers that are trained
  int64_t flops = 0;       // operations of the forward pass on one replica (core/graph/flops.h)
  Place place;             // place in the job; line 0: unknown
};

// A table of an embedding_config_spec that is stored by rows.
struct TableRow {
  std::string name;
  int64_t rows = 0;
  int64_t width = 0;
  int64_t slots = 0;
  int64_t row_bytes = 0;  // of a row and its slots
  int64_t bytes = 0;      // of all rows
  RowLayout layout = RowLayout::kArray;
  bool is_shared = false;  // by the processes of a group
  // Maximum number of rows that a step looks up on a replica; nullopt if it depends on the lengths
  // of lists.
  std::optional<int64_t> rows_a_step;
};

struct ModelCost {
  std::vector<LayerRow> layers;
  std::vector<TableRow> tables;
  int64_t parameters = 0;       // numbers that are trained
  int64_t parameter_bytes = 0;  // bytes of those numbers
  int64_t bytes = 0;  // bytes of all variables that are saved: with averages, slots and steps
  int64_t flops = 0;  // operations of a training step on one replica: forward, backward, update
};

// `model` is built for TRAIN. A variable that layers share counts for the first of them; a variable
// of no layer counts only in the sums. Error kUsage if the graph cannot be cut (core/graph/cut.h).
[[nodiscard]] ModelCost CostOf(const BuiltModel& model);
// The same, with the storage of its tables.
[[nodiscard]] ModelCost CostOf(const BuiltModel& model, const RowKeeping& keeping);

}  // namespace tpuest::cli
