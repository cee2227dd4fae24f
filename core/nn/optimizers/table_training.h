#pragma once
// Names the variables of a model that are embedding tables. Their own optimizers train them from
// the gradients of the rows that a step looked up; the model's optimizer, clipping and averages
// ignore them.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/optimizers/schedules.h"
#include "core/nn/optimizers/table_parameters.h"

namespace tpuest::nn {

struct TrainedTable {
  std::string variable;  // [rows, D]
  TableOptimizer optimizer;
  std::optional<LearningRate> learning_rate;  // nullopt: that of the optimizer
};

struct TableTraining {
  std::vector<TrainedTable> tables;
  // A factor for all gradients of tables, as a function of global_step.
  std::optional<LearningRate> gradient_multiplier;
  // True: a step's gradients update the tables at the end of the next step, which has looked up its
  // rows before. They wait in variables beside their table: <table>/pending_gradient, dense, and
  // <table>/pending_rows, 1 for each row that has a gradient.
  bool pipelined = false;

  // The table with this variable name, or nullptr.
  [[nodiscard]] const TrainedTable* Find(const std::string& variable) const;
};

}  // namespace tpuest::nn
