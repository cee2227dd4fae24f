#include "core/estimator/step/first_not_finite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/contract/filled_up.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/estimator/step/train_step.h"

namespace tpuest {
namespace {

// All nodes that a step computes, in the order of the graph: each node follows its inputs.
std::vector<Node*> NodesOf(const TPUEstimatorSpec& spec) {
  std::set<int> seen;
  std::vector<Node*> open = {spec.loss.node, spec.train_op};
  std::map<int, Node*> found;
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    if (!seen.insert(node->id()).second) continue;
    found[node->id()] = node;
    for (const Value& input : node->inputs()) open.push_back(input.node);
    for (Node* const before : node->control_inputs()) open.push_back(before);
  }
  std::vector<Node*> nodes;
  for (const auto& [id, node] : found) nodes.push_back(node);
  return nodes;
}

std::vector<Value> RealsOf(const std::vector<Node*>& nodes) {
  std::vector<Value> values;
  for (Node* const node : nodes) {
    if (node->op().writes || node->type() == "Const") continue;
    for (int i = 0; i < node->outputs(); ++i) {
      if (IsFloating(node->output_dtype(i))) values.push_back(node->output(i));
    }
  }
  return values;
}

// "NaN", "inf", or "" for a tensor of finite numbers.
std::string KindOf(const Tensor& tensor) {
  bool is_inf = false;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.AsDouble(i);
    if (std::isnan(value)) return "NaN";
    is_inf = is_inf || std::isinf(value);
  }
  return is_inf ? "inf" : "";
}

std::vector<int64_t> RowsNotFinite(const Tensor& tensor, int64_t rows) {
  std::vector<int64_t> found;
  const Shape& shape = tensor.shape();
  if (shape.rank() == 0 || shape.dim(0) != rows || rows == 0) return found;
  const int64_t width = tensor.elements() / rows;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      if (std::isfinite(tensor.AsDouble(i))) continue;
      found.push_back(row);
      break;
    }
  }
  return found;
}

// A bound or a mask's value, which is not a fault of the step.
bool IsInfiniteConstant(const Value& value) {
  if (value.node->type() != "Const" || !IsFloating(value.dtype())) return false;
  return !KindOf(ConstantValue(value)).empty();
}

NotFiniteTensor Described(const Value& value, const Tensor& tensor, int64_t rows) {
  return {.node = value.node->name(),
          .op = std::string(value.node->type()),
          .place = value.node->origin(),
          .kind = KindOf(tensor),
          .shape = tensor.shape().Text(),
          .rows = RowsNotFinite(tensor, rows)};
}

}  // namespace

std::optional<NotFiniteTensor> FirstNotFinite(const EstimatorContext& context,
                                              const StreamSpec& stream, const Batch& given) {
  const bool fills_up = context.FillsUp(Mode::kTrain) && !given.example_weight.valid();
  const Batch batch = fills_up ? FilledUp(given, context.BatchSize(Mode::kTrain)) : given;
  const int64_t rows = RowsOf(batch);
  const auto model = BuildTrainModel(context, stream, rows, /*with_scaffold=*/false);
  const std::optional<SavedState> saved = LoadNewest(context.model_dir, context.home.log);
  if (!saved) return std::nullopt;
  VariableStore variables;
  if (context.home.backends().device.keeps_rows()) {
    variables.tables().KeepRows(KeepingOf(context.options.embeddings));
  }
  RestoreVariables(*saved, *model->graph, variables);
  const uint64_t seed = context.seed.value_or(saved->resume.seed.value_or(0));
  InitializeVariables(context.home.backend, *model->graph, Which::kLocal, seed, variables);
  const std::vector<Value> values = RealsOf(NodesOf(model->spec));
  CompileOptions options = CompileOptionsOf(context);
  options.collective = nullptr;
  options.seed = seed;
  if (!context.seed) options.seeds_by_name = saved->resume.seeds_by_name;
  const std::vector<Tensor> inputs = InputsOf(*model, batch);
  StepProgram program(context.home.backends_alone(), variables,
                      {.graph = *model->graph,
                       .inputs = model->inputs,
                       .shapes = ShapesOf(inputs),
                       .fetches = values,
                       .broadcast = options.replicas > 1 && context.BroadcastsIn(Mode::kTrain),
                       .options = options});
  const std::vector<Tensor> results = program.RunWhole(inputs);
  std::set<const Node*> not_finite;
  std::optional<NotFiniteTensor> first;
  for (size_t i = 0; i < values.size(); ++i) {
    if (KindOf(results[i]).empty()) continue;
    const std::vector<Value>& from = values[i].node->inputs();
    const bool begins = std::none_of(from.begin(), from.end(), [&](const Value& input) {
      return not_finite.contains(input.node) || IsInfiniteConstant(input);
    });
    if (begins) return Described(values[i], results[i], rows);
    not_finite.insert(values[i].node);
    if (!first) first = Described(values[i], results[i], rows);
  }
  return first;
}

}  // namespace tpuest
