#include "core/backend/cpu/planned_updates.h"

#include <algorithm>
#include <climits>
#include <map>
#include <string>

#include "core/backend/cpu/update_gate.h"
#include "core/backend/row_table.h"

namespace tpuest {
namespace {

class UpdatePlanner {
 public:
  explicit UpdatePlanner(const UpdatePlanning& of) : of_(of) {}
  void Run();

 private:
  [[nodiscard]] const NodeSchedule& At(const Node& node) const {
    return of_.schedule.nodes[static_cast<size_t>(node.id())];
  }
  void AddWritten(const Node& handle, const UpdateBounds& bounds, const std::string& slot);
  void AddUpdateInput(const Value& input, const UpdateBounds::Range& range);
  void AddCentered(const Node& update, int first_update);

  const UpdatePlanning& of_;
  std::map<std::string, size_t> written_;  // places in plan.written, by name
};

// What an update of a later wave reads is not there when the gate looks: it is made of variables
// (averages of weights), which are within bounds by then.
void UpdatePlanner::Run() {
  int first = INT_MAX;
  for (const auto& node : of_.bound.graph->nodes()) {
    if (At(*node).needed && IsUpdate(*node)) first = std::min(first, At(*node).phase);
  }
  for (const auto& node : of_.bound.graph->nodes()) {
    if (!At(*node).needed || !IsUpdate(*node)) continue;
    const UpdateBounds bounds(*node);
    if (bounds.is_centered()) AddCentered(*node, first);
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const Value input = node->input(i);
      const std::string& name = node->signature().inputs[static_cast<size_t>(i)].name;
      if (input.dtype() == DType::kResource) {
        AddWritten(*input.node, bounds, name);
      } else if (At(*input.node).phase < first && input.node->op().source != ValueSource::kRead) {
        AddUpdateInput(input, bounds.OfInput(name, input.shape().rank() == 0));
      }
    }
  }
}

void UpdatePlanner::AddWritten(const Node& handle, const UpdateBounds& bounds,
                               const std::string& slot) {
  if (const RowColumn* const rows = of_.variables.RowsOf(handle)) {
    auto& tables = of_.plan.tables;
    if (rows->column == 0 && std::find(tables.begin(), tables.end(), rows) == tables.end()) {
      tables.push_back(rows);
    }
    of_.plan.shares_tables = of_.plan.shares_tables || rows->table->owners() != nullptr;
    return;
  }
  const UpdateBounds::Range range = bounds.OfSlot(slot);
  const std::string& name = handle.Attr<std::string>("shared_name");
  const auto [place, is_new] = written_.try_emplace(name, of_.plan.written.size());
  if (!is_new) {
    WrittenVariable& written = of_.plan.written[place->second];
    written.least = std::max(written.least, range.least);
    written.most = std::min(written.most, range.most);
    return;
  }
  of_.plan.written.push_back({.name = name,
                              .memory = of_.variables.MemoryOf(handle),
                              .dtype = handle.Attr<DType>("dtype"),
                              .elements = handle.Attr<Shape>("shape").elements(),
                              .least = range.least,
                              .most = range.most});
}

// Without a look at its gradient such an update has no bound.
void UpdatePlanner::AddCentered(const Node& update, int first_update) {
  CenteredUpdate centered;
  for (int i = 0; i < static_cast<int>(update.inputs().size()); ++i) {
    const Value input = update.input(i);
    const std::string& name = update.signature().inputs[static_cast<size_t>(i)].name;
    if (name == "ms") centered.ms = of_.variables.MemoryOf(*input.node);
    if (name == "mg") centered.mg = of_.variables.MemoryOf(*input.node);
    Buffer* const to = name == "grad"      ? &centered.grad
                       : name == "rho"     ? &centered.rho
                       : name == "epsilon" ? &centered.epsilon
                       : name == "indices" ? &centered.indices
                                           : nullptr;
    if (to == nullptr) continue;
    const bool is_early =
        At(*input.node).phase < first_update && input.node->op().source != ValueSource::kRead;
    if (!is_early) of_.plan.updates_are_bounded = false;
    if (!is_early) return;
    *to = of_.buffers.Use(input, false);
    if (name == "indices") centered.index_dtype = input.dtype();
    if (name != "grad") continue;
    const Shape& shape = input.shape();
    centered.dtype = input.dtype();
    centered.rows = shape.rank() == 0 ? 1 : shape.dim(0);
    centered.width = centered.rows == 0 ? 0 : shape.elements() / centered.rows;
  }
  of_.plan.centered.push_back(centered);
}

void UpdatePlanner::AddUpdateInput(const Value& input, const UpdateBounds::Range& range) {
  if (!IsFloating(input.dtype())) return;
  of_.plan.update_inputs.push_back({.buffer = of_.buffers.Use(input, false),
                                    .dtype = input.dtype(),
                                    .elements = input.shape().elements(),
                                    .least = range.least,
                                    .most = range.most});
}

}  // namespace

void PlanUpdates(const UpdatePlanning& of) { UpdatePlanner(of).Run(); }

}  // namespace tpuest
