#include "core/estimator/step/model/scaffold.h"

#include "core/graph/cut.h"

namespace tpuest {
namespace {

// True if the device computes the node in each step: it is not a variable, a constant or a host op.
bool IsOfDevice(const Node& node) {
  return !node.after() && !RunsOnHost(node) && node.type() != "Const" &&
         node.type() != "VarHandleOp";
}

// TensorFlow checks the inputs of each op that the scaffold_fn adds.
void CheckAdded(const Graph& graph, size_t before) {
  const auto& nodes = graph.nodes();
  for (size_t i = before; i < nodes.size(); ++i) {
    for (const Value& input : nodes[i]->inputs()) {
      const bool is_older = static_cast<size_t>(input.node->id()) < before;
      if (!is_older || !IsOfDevice(*input.node)) continue;
      throw Error(Code::kUsage,
                  fmt::format("Inside scaffold_fn: Op {} depends on TPU computation {}, which is "
                              "not allowed.",
                              nodes[i]->name(), input.name()),
                  "a scaffold_fn can read variables through their handles")
          .At(nodes[i]->origin());
    }
  }
}

void CheckNames(const Graph& graph, const Scaffold& scaffold) {
  for (const auto& [name, source] : scaffold.restore_names) {
    if (graph.FindVariable(name) != nullptr) continue;
    throw Error(
        Code::kUsage,
        fmt::format(
            "scaffold_fn: \"{}\" is to be restored from \"{}\", but the graph has no such variable",
            name, source));
  }
}

}  // namespace

std::optional<Scaffold> CallScaffoldFn(const Graph& graph, const TPUEstimatorSpec& spec) {
  if (!spec.scaffold_fn) return std::nullopt;
  const size_t before = graph.nodes().size();
  std::optional<Scaffold> scaffold = spec.scaffold_fn();
  if (!scaffold) {
    throw Error(Code::kUsage, "TPUEstimatorSpec.scaffold_fn returns None, which is not allowed");
  }
  CheckAdded(graph, before);
  CheckNames(graph, *scaffold);
  return scaffold;
}

void RunInitFn(const Graph& graph, const std::optional<Scaffold>& scaffold, Log& log,
               VariableStore& variables) {
  if (!scaffold || !scaffold->init_fn) return;
  int frozen = 0;
  const std::map<std::string, Tensor> values = scaffold->init_fn();
  for (const auto& [name, value] : values) {
    const Variable* const variable = graph.FindVariable(name);
    Check(
        variable != nullptr && variable->shape == value.shape() && variable->dtype == value.dtype(),
        "init_fn returns \"{}\" {}, which does not fit the variable", name, value.shape().Text());
    variables.Set(name, value);
    frozen += variable->trainable ? 0 : 1;
  }
  log.Info("Starting from {}: {} variables, {} of them not trained (moving statistics included).",
           scaffold->init_source, values.size(), frozen);
}

void RunLocalInit(Backend& backend, const Graph& graph, const Scaffold& scaffold,
                  VariableStore& variables) {
  if (scaffold.local_init_op == nullptr) return;
  const std::unique_ptr<Program> program =
      backend.Compile({.graph = &graph, .targets = {scaffold.local_init_op}}, {}, variables);
  const StepFeeds nothing;
  (void)program->Run({&nothing, 1});
}

void LogLocalInit(const EstimatorHome& home) {
  if (!home.tensorflow_words) return;
  home.log.Info("Running local_init_op.");
  home.log.Info("Done running local_init_op.");
}

}  // namespace tpuest
