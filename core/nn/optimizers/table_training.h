#pragma once
// Which variables of a model are embedding tables, and how a step trains them: by their own
// optimizers, from the gradients of the rows that it looked up. The model's optimizer, its clipping
// and its averages know nothing of them.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/optimizers/schedules.h"
#include "core/nn/optimizers/table_parameters.h"

namespace tpuest::nn {

struct TrainedTable {
  std::string variable;  // [rows, D]
  TableOptimizer optimizer;
  std::optional<LearningRate> learning_rate;  // nullopt: the optimizer's
};

struct TableTraining {
  std::vector<TrainedTable> tables;
  // What all tables' gradients are multiplied by, a function of global_step.
  std::optional<LearningRate> gradient_multiplier;
  // A step's gradients move the tables at the end of the step behind it, which has looked them up
  // before. They wait in variables beside their table: <table>/pending_gradient, whole, and
  // <table>/pending_rows, 1 for each row that they are of.
  bool pipelined = false;

  // The table of a variable's name; nullptr: it is none.
  [[nodiscard]] const TrainedTable* Find(const std::string& variable) const;
};

}  // namespace tpuest::nn
