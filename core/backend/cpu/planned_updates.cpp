#include "core/backend/cpu/planned_updates.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/backend/cpu/late_inputs.h"
#include "core/backend/rows/row_table.h"
#include "core/graph/update_bounds.h"

namespace tpuest {
namespace {

class UpdatePlanner {
 public:
  explicit UpdatePlanner(const UpdatePlanning& of) : of_(of) {}
  void Run();

 private:
  // The updates that write a variable.
  struct Writers {
    int stated_least = 0;  // updates whose bounds are not symmetric about 0
    int early = 0;         // updates with an input that the gate checks
    int both = 0;
  };

  [[nodiscard]] const NodeSchedule& At(const Node& node) const {
    return of_.schedule.nodes[static_cast<size_t>(node.id())];
  }
  // Whether the input's value is computed before the first update.
  [[nodiscard]] bool IsEarly(const Value& input) const { return At(*input.node).phase < first_; }
  [[nodiscard]] bool HasEarlyInput(const Node& update) const;
  [[nodiscard]] bool WritesFloatsWhole(const Node& update) const;
  void AddUpdate(const Node& update);
  void AddWritten(const Node& handle, const InputBounds* bounds, bool has_early_input);
  void AddUpdateInput(const Value& input, const InputBounds& bounds);
  void AddCentered(const Node& update);
  void CheckWriters();
  void CheckLate(const Node& update);
  [[nodiscard]] ValueRange RangeOfVariable(const Node& handle) const;

  const UpdatePlanning& of_;
  std::map<std::string, size_t> written_;   // places in plan.written, by name
  int first_ = INT_MAX;                     // phase of an update
  std::map<std::string, Writers> writers_;  // by the variable's name
};

bool IsBoundedBelow(const InputBounds& bounds) { return bounds.least > -bounds.most; }

void UpdatePlanner::Run() {
  std::vector<const Node*> updates;
  for (const auto& node : of_.bound.graph->nodes()) {
    if (!At(*node).needed || !IsUpdate(*node)) continue;
    updates.push_back(node.get());
    first_ = std::min(first_, At(*node).phase);
  }
  for (const Node* const update : updates) AddUpdate(*update);
  CheckWriters();
  for (const Node* const update : updates) CheckLate(*update);
}

void UpdatePlanner::AddUpdate(const Node& update) {
  const UpdateBounds& bounds = update.op().bounds != nullptr ? *update.op().bounds : kNeverSure;
  const bool has_early_input = HasEarlyInput(update);
  if (bounds.divides_by_root_of_variance) AddCentered(update);
  for (int i = 0; i < static_cast<int>(update.inputs().size()); ++i) {
    const Value input = update.input(i);
    const InputBounds* const stated =
        bounds.Find(update.signature().inputs[static_cast<size_t>(i)].name);
    const bool is_variable = input.dtype() == DType::kResource;
    if (stated == nullptr && (is_variable || IsFloating(input.dtype())) &&
        WritesFloatsWhole(update)) {
      of_.plan.updates_are_bounded = false;
    }
    if (is_variable) {
      AddWritten(*input.node, stated, has_early_input);
    } else if (stated != nullptr && IsEarly(input)) {
      AddUpdateInput(input, *stated);
    }
  }
}

bool UpdatePlanner::HasEarlyInput(const Node& update) const {
  return std::any_of(update.inputs().begin(), update.inputs().end(), [&](const Value& input) {
    return IsFloating(input.dtype()) && IsEarly(input);
  });
}

// Whether the update writes a floating-point variable that is not kept by rows; only these need
// bounds.
bool UpdatePlanner::WritesFloatsWhole(const Node& update) const {
  return std::any_of(update.inputs().begin(), update.inputs().end(), [&](const Value& input) {
    return input.dtype() == DType::kResource && of_.variables.RowsOf(*input.node) == nullptr &&
           IsFloating(input.node->Attr<DType>("dtype"));
  });
}

void UpdatePlanner::AddWritten(const Node& handle, const InputBounds* bounds,
                               bool has_early_input) {
  if (const RowColumn* const rows = of_.variables.RowsOf(handle)) {
    auto& tables = of_.plan.tables;
    if (rows->column == 0 && std::find(tables.begin(), tables.end(), rows) == tables.end()) {
      tables.push_back(rows);
    }
    of_.plan.shares_tables = of_.plan.shares_tables || rows->table->owners() != nullptr;
    return;
  }
  const std::string& name = handle.Attr<std::string>("shared_name");
  const bool is_bounded_below = bounds != nullptr && IsBoundedBelow(*bounds);
  Writers& writers = writers_[name];
  writers.stated_least += is_bounded_below ? 1 : 0;
  writers.early += has_early_input ? 1 : 0;
  writers.both += is_bounded_below && has_early_input ? 1 : 0;
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const double least = bounds != nullptr ? bounds->least : -kAny;
  const double most = bounds != nullptr ? bounds->most : kAny;
  const auto [place, is_new] = written_.try_emplace(name, of_.plan.written.size());
  if (!is_new) {
    WrittenVariable& written = of_.plan.written[place->second];
    written.least = std::max(written.least, least);
    written.most = std::min(written.most, most);
    return;
  }
  of_.plan.written.push_back({.name = name,
                              .memory = of_.variables.MemoryOf(handle),
                              .dtype = handle.Attr<DType>("dtype"),
                              .elements = handle.Attr<Shape>("shape").elements(),
                              .least = least,
                              .most = most});
}

// An update keeps its own slots above the bound that it states. Another update may write values
// below it, for example 0 into an accumulator by whose root an optimizer divides.
void UpdatePlanner::CheckWriters() {
  for (const auto& [name, writers] : writers_) {
    if (writers.stated_least == 0) continue;
    const int own = writers.stated_least == 1 ? writers.both : 0;
    if (writers.early > own) of_.plan.updates_are_bounded = false;
  }
}

// Inputs of updates of later waves do not exist yet when the gate checks. They need no check if
// they follow from variables within their bounds; otherwise the results of every step are checked.
void UpdatePlanner::CheckLate(const Node& update) {
  const UpdateBounds& bounds = update.op().bounds != nullptr ? *update.op().bounds : kNeverSure;
  if (!of_.plan.updates_are_bounded || !WritesFloatsWhole(update)) return;
  const VariableRange variable = [&](const Node& handle) { return RangeOfVariable(handle); };
  for (int i = 0; i < static_cast<int>(update.inputs().size()); ++i) {
    const Value input = update.input(i);
    if (!IsFloating(input.dtype()) || IsEarly(input)) continue;
    const ValueRange range = RangeOf(input, variable);
    const InputBounds* const stated =
        bounds.Find(update.signature().inputs[static_cast<size_t>(i)].name);
    const bool is_stated =
        stated != nullptr && ValueRange{stated->least, stated->most}.Contains(range);
    const bool stays = Replaces(update) && RangeOfVariable(*update.input(0).node).Contains(range);
    if (is_stated || stays || AveragesFinite(update, variable)) continue;
    of_.plan.updates_are_bounded = false;
  }
}

// The bounds of a variable that the program writes. A variable that it does not write stays finite.
ValueRange UpdatePlanner::RangeOfVariable(const Node& handle) const {
  if (of_.variables.RowsOf(handle) != nullptr) return {};
  const auto written = written_.find(handle.Attr<std::string>("shared_name"));
  constexpr double kFinite = std::numeric_limits<float>::max();
  if (written == written_.end()) return {-kFinite, kFinite};
  const WrittenVariable& bounds = of_.plan.written[written->second];
  return {bounds.least, bounds.most};
}

// Without a check of its gradient such an update has no bound.
void UpdatePlanner::AddCentered(const Node& update) {
  CenteredUpdate centered;
  for (int i = 0; i < static_cast<int>(update.inputs().size()); ++i) {
    const Value input = update.input(i);
    const std::string& name = update.signature().inputs[static_cast<size_t>(i)].name;
    if (name == "ms") {
      centered.ms = of_.variables.MemoryOf(*input.node);
      const Shape& variable = input.node->Attr<Shape>("shape");
      centered.variable_rows = variable.rank() == 0 ? 1 : variable.dim(0);
    }
    if (name == "mg") centered.mg = of_.variables.MemoryOf(*input.node);
    Buffer* const to = name == "grad"      ? &centered.grad
                       : name == "rho"     ? &centered.rho
                       : name == "epsilon" ? &centered.epsilon
                       : name == "indices" ? &centered.indices
                                           : nullptr;
    if (to == nullptr) continue;
    if (!IsEarly(input)) {
      of_.plan.updates_are_bounded = false;
      return;
    }
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

void UpdatePlanner::AddUpdateInput(const Value& input, const InputBounds& bounds) {
  if (!IsFloating(input.dtype())) return;
  of_.plan.update_inputs.push_back({.buffer = of_.buffers.Use(input, false),
                                    .dtype = input.dtype(),
                                    .elements = input.shape().elements(),
                                    .least = bounds.least,
                                    .most = bounds.most});
}

}  // namespace

void PlanUpdates(const UpdatePlanning& of) { UpdatePlanner(of).Run(); }

}  // namespace tpuest
