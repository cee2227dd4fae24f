#pragma once
// Runs the graph of an input_fn's formulas on the rows of a batch.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/backend/backend.h"
#include "data/examples/column_plan.h"

namespace tpuest::data {

// Belongs to one worker, on whose thread it runs. What it gives for a row is a function of that
// row's columns alone.
class ColumnProgram {
 public:
  // `wanted` are values of the graph, [?, ...]; the graph may be shared with other workers.
  ColumnProgram(std::shared_ptr<ColumnGraph> graph, std::vector<Value> wanted);
  // The values, [rows, ...], of the graph's inputs, [rows, ...] each in their order, and of its
  // window_places where it has them.
  [[nodiscard]] std::vector<Tensor> Run(const std::vector<Tensor>& inputs, int64_t rows);

 private:
  [[nodiscard]] Program& For(int64_t rows);

  std::shared_ptr<ColumnGraph> graph_;
  std::vector<Value> wanted_;
  std::unique_ptr<Backend> backend_;
  VariableStore variables_;
  std::map<int64_t, std::unique_ptr<Program>> programs_;  // by rows: whole batches and the last one
};

}  // namespace tpuest::data
