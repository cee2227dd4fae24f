#pragma once
// Runs the graph of an input_fn's formulas on the rows of a batch.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/backend/backend.h"
#include "data/examples/column_plan.h"

namespace tpuest::data {

// Belongs to one worker and runs on its thread. The results of a row depend only on that row's
// columns.
class ColumnProgram {
 public:
  // `wanted`: values of the graph, [?, ...]. Several workers may share the graph.
  ColumnProgram(std::shared_ptr<ColumnGraph> graph, std::vector<Value> wanted);
  // Computes the wanted values, [rows, ...], from the graph's inputs, [rows, ...] in order,
  // followed by window_places if the graph has them.
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
