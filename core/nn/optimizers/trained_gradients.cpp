#include "core/nn/optimizers/trained_gradients.h"

#include <utility>

#include "core/base/text.h"
#include "core/base/text/pattern.h"
#include "core/graph/recompute.h"
#include "core/nn/global_step.h"
#include "core/nn/optimizers/gradient_accumulation.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

// A pattern of `remat`. Throws Error kUsage that names the key.
Pattern RematPattern(const std::string& text) {
  try {
    return Pattern(text);
  } catch (const Error& error) {
    throw Error(Code::kUsage, fmt::format("tpuest.remat: {}", error.message()),
                "select layers by patterns such as '_relu$'");
  }
}

// The nodes of the layers that `remat` names, by id. Throws Error kUsage for a pattern that names
// none.
std::vector<char> NodesOf(const Graph& graph, const std::vector<std::string>& remat) {
  std::vector<char> covered(graph.nodes().size(), 0);
  for (const std::string& text : remat) {
    const Pattern pattern = RematPattern(text);
    bool found = false;
    for (const GraphLayer& layer : graph.layers()) {
      if (!pattern.FoundIn(layer.name)) continue;
      found = true;
      std::fill(covered.begin() + layer.first_node, covered.begin() + layer.end_node, 1);
    }
    if (found) continue;
    throw Error(Code::kUsage, fmt::format("tpuest.remat: '{}' matches no layer's name", text),
                "`tpuest plan` lists the layers");
  }
  return covered;
}

// A normalization of a batch has the statistics still, which are small: it is done once more as in
// inference, by them. (Its kernels are the same: ExpandBatchNorm of core/ops.)
std::vector<Value> NormalizedAgain(Node& node, const std::vector<Value>& inputs) {
  if (node.type() != "FusedBatchNormV3" || !node.Attr<bool>("is_training")) return {};
  std::vector<Value> outputs;
  for (int i = 0; i < node.outputs(); ++i) outputs.push_back(node.output(i));
  Attrs attrs = node.attrs();
  attrs["is_training"] = false;
  attrs[std::string(kRecomputed)] = node.name();
  outputs[0] = node.graph().Add("FusedBatchNormV3",
                                {inputs[0], inputs[1], inputs[2], outputs[3], outputs[4]}, attrs,
                                node.name() + "_again");
  return outputs;
}

AllGradients ComputeGradients(Value loss, const MinimizeOptions& options) {
  std::vector<const Variable*> variables;
  std::vector<Value> values;
  for (const auto& variable : loss.graph().variables()) {
    if (!variable->trainable || variable->local) continue;
    variables.push_back(variable.get());
    values.push_back(variable->handle);
  }
  Recompute recompute;
  if (!options.remat.empty()) {
    recompute.covers = [covered = NodesOf(loss.graph(), options.remat)](const Node& node) {
      return covered[static_cast<size_t>(node.id())] != 0;
    };
    recompute.again = NormalizedAgain;
  }
  const std::vector<Gradient> gradients = Gradients(loss, values, {}, recompute);
  AllGradients all;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (std::holds_alternative<std::monostate>(gradients[i])) continue;
    const bool is_table = options.tables.Find(variables[i]->name) != nullptr;
    (is_table ? all.tables : all.model).push_back({variables[i], gradients[i]});
  }
  if (all.model.empty() && all.tables.empty()) {
    std::vector<std::string> names;
    for (const Variable* const variable : variables) names.push_back(variable->name);
    throw Error(Code::kUsage,
                fmt::format("No gradients provided for any variable, check your graph for ops "
                            "that do not support gradients, between variables [{}] and loss {}.",
                            Join(names, ", "), loss.name()),
                "does `trainable` match any variable of the model?");
  }
  return all;
}

void SumOverReplicas(std::vector<Trained>& trained, int replicas) {
  for (Trained& t : trained) {
    auto* const whole = std::get_if<Value>(&t.gradient);
    if (whole != nullptr) *whole = ops::CrossReplicaSum(*whole, replicas);
    t.replicas = replicas;
  }
}

// The sum of squares of a gradient's values, over all replicas.
Value SumOfSquares(const Trained& trained) {
  const auto* const slices = std::get_if<IndexedSlices>(&trained.gradient);
  const Value values = slices != nullptr ? slices->values : std::get<Value>(trained.gradient);
  const Value own = ops::Sum(ops::Square(values));
  return slices != nullptr && trained.replicas > 1 ? ops::CrossReplicaSum(own, trained.replicas)
                                                   : own;
}

Value ValuesOf(const Gradient& gradient) {
  const auto* const slices = std::get_if<IndexedSlices>(&gradient);
  return slices != nullptr ? slices->values : std::get<Value>(gradient);
}

void SetValues(Gradient& gradient, Value values) {
  if (auto* const slices = std::get_if<IndexedSlices>(&gradient)) {
    *slices = {values, slices->indices, slices->rows};
  } else {
    gradient = values;
  }
}

Node* ApplyGradient(const AnyOptimizer& optimizer, const Update& update, const Gradient& gradient) {
  const auto* const slices = std::get_if<IndexedSlices>(&gradient);
  return slices != nullptr ? ApplySparse(optimizer, update, *slices)
                           : ApplyDense(optimizer, update, std::get<Value>(gradient));
}

Node* AdvanceGlobalStep(Graph& graph, const std::vector<Node*>& updates) {
  const Variable* const step = GetOrCreateGlobalStep(graph);
  Node* const advance = ops::AssignAddVariableOp(step->handle, graph.Scalar<int64_t>(1));
  for (Node* const update : updates) advance->AddControlInput(update);
  return advance;
}

void CheckArguments(const GradientOptions& gradients) {
  if (gradients.gradient_accumulation_steps < 1) {
    throw Error(Code::kUsage, fmt::format("gradient_accumulation_steps is {}, expected at least 1",
                                          gradients.gradient_accumulation_steps));
  }
  if (gradients.clip_by_global_norm && !(*gradients.clip_by_global_norm > 0)) {
    throw Error(Code::kUsage, fmt::format("clip_by_global_norm is {}, expected more than 0",
                                          NumberText(*gradients.clip_by_global_norm)));
  }
}

}  // namespace

AllGradients GradientsOverReplicas(Value loss, bool mean, const MinimizeOptions& options) {
  const Value target = options.replicas > 1 && mean ? ops::Mul(loss, 1.0 / options.replicas) : loss;
  AllGradients all = ComputeGradients(target, options);
  if (options.dense_gradients) {
    for (Trained& t : all.model) t.gradient = ToDense(t.gradient);
  }
  for (Trained& t : all.tables) t.replicas = options.replicas;
  if (options.replicas > 1) SumOverReplicas(all.model, options.replicas);
  return all;
}

std::map<std::string, Value> ByVariable(const AllGradients& all) {
  std::map<std::string, Value> gradients;
  for (const std::vector<Trained>* const some : {&all.model, &all.tables}) {
    for (const Trained& t : *some) gradients[t.variable->name] = ValuesOf(OverReplicas(t));
  }
  return gradients;
}

Gradient OverReplicas(const Trained& trained) {
  const auto* const slices = std::get_if<IndexedSlices>(&trained.gradient);
  if (slices == nullptr || trained.replicas == 1) return trained.gradient;
  const UniqueRows rows = SumOverReplicas(*slices, trained.replicas);
  return IndexedSlices{
      .values = rows.sums, .indices = rows.indices, .rows = slices->rows, .once = true};
}

void SumInLookups(std::vector<Trained>& trained) {
  for (Trained& t : trained) {
    auto* const slices = std::get_if<IndexedSlices>(&t.gradient);
    if (slices != nullptr) *slices = SumInLookups(*slices);
  }
}

void ScaleBy(std::vector<Trained>& trained, Value factor) {
  for (Trained& t : trained) SetValues(t.gradient, ops::Mul(ValuesOf(t.gradient), factor));
}

Value GlobalNorm(const std::vector<Trained>& trained) {
  std::vector<Value> squares;
  for (const Trained& t : trained) squares.push_back(SumOfSquares(t));
  return ops::Sqrt(ops::AddN(squares), "global_norm");
}

Value ClipByGlobalNorm(std::vector<Trained>& trained, double clip_norm) {
  Graph& graph = trained[0].variable->handle.graph();
  const NameScope scope(graph, "clip_by_global_norm");
  const Value norm = GlobalNorm(trained);
  const Value one = graph.ScalarOf(DType::kFloat, 1.0);
  const Value factor =
      ops::Mul(ops::Minimum(ops::RealDiv(one, norm),
                            ops::RealDiv(one, graph.ScalarOf(DType::kFloat, clip_norm))),
               clip_norm);
  // The difference norm - norm is 0 where the norm is finite, else NaN.
  const Value scale = ops::AddV2(factor, ops::Sub(norm, norm));
  ScaleBy(trained, scale);
  return norm;
}

void ClipByNorm(Trained& trained, double clip_norm) {
  const Value values = ValuesOf(trained.gradient);
  const Value norm = ops::Sqrt(SumOfSquares(trained));
  SetValues(trained.gradient,
            ops::RealDiv(ops::Mul(values, clip_norm), ops::Maximum(norm, clip_norm)));
}

void ClipByValue(Trained& trained, double most) {
  SetValues(trained.gradient, ops::ClipByValue(ValuesOf(trained.gradient), -most, most));
}

Node* WithConstraint(const MinimizeOptions& options, const Variable& variable, Node* update) {
  const auto found = options.constraints.find(variable.name);
  if (found == options.constraints.end()) return update;
  Graph& graph = variable.handle.graph();
  const NameScope scope(graph, "constraint");
  const Value updated = ops::ReadVariableOp(variable.handle);
  updated.node->AddControlInput(update);
  Node* const written = ops::AssignVariableOp(variable.handle, Constrained(found->second, updated));
  return ops::NoOp(graph, {update, written});
}

std::vector<Node*> ApplyTrainOptimizer(Graph& graph, const AnyOptimizer& optimizer,
                                       const OptimizerNames& names, std::vector<Trained> trained,
                                       const MinimizeOptions& options, TrainOp& result) {
  CheckOptions(optimizer);
  const auto& [gradients, rate] = std::visit(
      [](const auto& o) {
        return std::pair<const GradientOptions&, const LearningRate&>(o.gradients, o.learning_rate);
      },
      optimizer);
  CheckArguments(gradients);
  const bool is_measured = gradients.clip_by_global_norm || options.gradient_norm;
  if (trained.empty()) {  // the model has tables alone
    result.learning_rate = LearningRateAt(graph, rate, options.steps_per_epoch);
    if (is_measured) result.gradient_norm = graph.ScalarOf(DType::kFloat, 0);
    return {};
  }
  if (is_measured) SumInLookups(trained);
  std::optional<GradientAccumulation> accumulation;
  if (gradients.gradient_accumulation_steps > 1) {
    if (is_measured) result.gradient_norm = GlobalNorm(trained);  // of the step's own
    accumulation.emplace(graph, gradients.gradient_accumulation_steps, names, trained);
  }
  if (gradients.clip_by_global_norm) {
    const Value norm = ClipByGlobalNorm(trained, *gradients.clip_by_global_norm);
    if (!accumulation) result.gradient_norm = norm;
  } else if (is_measured && !accumulation) {
    result.gradient_norm = GlobalNorm(trained);
  }
  result.learning_rate = LearningRateAt(graph, rate, options.steps_per_epoch);
  std::vector<Node*> updates;
  for (const Trained& t : trained) {
    const Update update{graph, *t.variable, result.learning_rate, names};
    updates.push_back(
        WithConstraint(options, *t.variable, ApplyGradient(optimizer, update, OverReplicas(t))));
  }
  for (Node* const node : Finish(optimizer, graph, names)) updates.push_back(node);
  return accumulation ? accumulation->Finish(updates) : updates;
}

Node* TrainOpAfter(Graph& graph, const std::vector<Node*>& updates,
                   const std::vector<KeptAverage>& averages) {
  std::vector<Node*> before = updates;
  for (const KeptAverage& average : averages) {
    if (average.counts_step) continue;
    before.push_back(ApplyAverages(graph, average, ops::NoOp(graph, updates, "updates")));
  }
  Node* const advanced = AdvanceGlobalStep(graph, before);
  std::vector<Node*> last;
  for (const KeptAverage& average : averages) {
    if (average.counts_step) last.push_back(ApplyAverages(graph, average, advanced));
  }
  if (last.empty()) last.push_back(advanced);
  return ops::NoOp(graph, last, "train_op");
}

}  // namespace tpuest::nn
