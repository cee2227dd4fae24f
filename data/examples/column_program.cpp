#include "data/examples/column_program.h"

#include <utility>

#include "core/backend/cpu/program.h"

namespace tpuest::data {

ColumnProgram::ColumnProgram(std::shared_ptr<ColumnGraph> graph, std::vector<Value> wanted)
    : graph_(std::move(graph)), wanted_(std::move(wanted)), backend_(MakeCpuBackend()) {}

Program& ColumnProgram::For(int64_t rows) {
  std::unique_ptr<Program>& program = programs_[rows];
  if (program) return *program;
  ProgramSpec spec{.graph = &graph_->graph, .fetches = wanted_};
  std::vector<Value> placeholders = graph_->placeholders;
  if (graph_->window_places.valid()) placeholders.push_back(graph_->window_places);
  for (const Value placeholder : placeholders) {
    std::vector<int64_t> dims = placeholder.shape().dims();
    dims.front() = rows;
    spec.feeds.push_back({.placeholder = placeholder, .shape = Shape(std::move(dims))});
  }
  const std::lock_guard lock(graph_->mutex);
  program = backend_->Compile(spec, {}, variables_);
  return *program;
}

std::vector<Tensor> ColumnProgram::Run(const std::vector<Tensor>& inputs, int64_t rows) {
  StepFeeds feeds;
  for (const Tensor& input : inputs) feeds.push_back({input});
  std::vector<StepResult> results = For(rows).Run({&feeds, 1});
  std::vector<Tensor> values;
  for (std::vector<Tensor>& replicas : results.front().fetches) {
    values.push_back(std::move(replicas.front()));
  }
  return values;
}

}  // namespace tpuest::data
