#include "cli/job/job_scaffold.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/nn/formula/formula.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"

namespace tpuest::cli {
namespace {

void CheckIsVariable(const Graph& graph, const std::string& name, const std::string& key) {
  if (graph.FindVariable(name) != nullptr) return;
  std::vector<std::string> names;
  for (const auto& variable : graph.variables()) names.push_back(variable->name);
  const std::optional<std::string> near = Nearest(name, names);
  throw Error(Code::kUsage, fmt::format("the model has no variable '{}'", name),
              near                           ? fmt::format("did you mean '{}'?", *near)
              : key == "scaffold_fn.restore" ? "restore: {NAME IN THE CHECKPOINT: VARIABLE}"
                                             : "variables: " + Join(names, ", "))
      .Key(key);
}

// Adds the node that sets each variable to the value of its formula, computed from the values
// before.
tpuest::Node* LocalInit(Graph& graph, const std::map<std::string, Formula>& local_init) {
  nn::FormulaNames names;
  for (const auto& variable : graph.variables()) {
    if (variable->local) continue;
    const Value read = ops::ReadVariableOp(variable->handle);
    names.groups["variables"].emplace(variable->name, read);
    if (variable->name == nn::kGlobalStepName) names.values.emplace("global_step", read);
  }
  std::vector<tpuest::Node*> assignments;
  for (const auto& [name, formula] : local_init) {
    const Variable& variable = *graph.FindVariable(name);
    const Value given = nn::BuildFormula(graph, formula, names);
    const bool is_one = given.shape().known_rank() && given.shape().rank() == 0;
    if (!is_one && given.shape() != variable.shape) {
      throw Error(Code::kUsage, fmt::format("'{}' is {}, but the formula gives {}", name,
                                            variable.shape.Text(), given.shape().Text()))
          .At(formula.place);
    }
    const Value value = ops::Cast(given, variable.dtype);
    assignments.push_back(ops::AssignVariableOp(
        variable.handle, is_one ? ops::BroadcastTo(value, variable.shape) : value));
  }
  return ops::NoOp(graph, assignments, "local_init");
}

// Returns the model with variables set when a session begins, after its own scaffold has run.
ModelFn WithLocalInit(ModelFn model_fn, std::map<std::string, Formula> local_init) {
  return [model_fn = std::move(model_fn), local_init = std::move(local_init)](
             Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    TPUEstimatorSpec spec = model_fn(graph, inputs, mode, params);
    for (const auto& [name, formula] : local_init) {
      CheckIsVariable(graph, name, "scaffold_fn.local_init");
    }
    spec.scaffold_fn = [before = spec.scaffold_fn, &graph, local_init] {
      std::optional<Scaffold> scaffold = before ? before() : Scaffold();
      if (scaffold) scaffold->local_init_op = LocalInit(graph, local_init);
      return scaffold;
    };
    return spec;
  };
}

// Returns the model with variables restored from other names, except in training.
ModelFn WithRestored(ModelFn model_fn, std::map<std::string, std::string> restore) {
  return [model_fn = std::move(model_fn), restore = std::move(restore)](
             Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    TPUEstimatorSpec spec = model_fn(graph, inputs, mode, params);
    for (const auto& [from, to] : restore) CheckIsVariable(graph, to, "scaffold_fn.restore");
    if (mode == Mode::kTrain) return spec;
    spec.scaffold_fn = [before = spec.scaffold_fn, restore] {
      std::optional<Scaffold> scaffold = before ? before() : Scaffold();
      for (const auto& [from, to] : restore) {
        if (scaffold) scaffold->restore_names[to] = from;
      }
      return scaffold;
    };
    return spec;
  };
}

}  // namespace

ModelFn WithScaffold(ModelFn model_fn, const ScaffoldOptions& options) {
  if (!options.local_init.empty()) {
    model_fn = WithLocalInit(std::move(model_fn), options.local_init);
  }
  return options.restore.empty() ? model_fn : WithRestored(std::move(model_fn), options.restore);
}

}  // namespace tpuest::cli
