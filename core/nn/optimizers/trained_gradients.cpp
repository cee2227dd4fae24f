#include "core/nn/optimizers/trained_gradients.h"

#include <utility>

#include "core/base/text.h"
#include "core/nn/global_step.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

std::vector<Trained> ComputeGradients(Value loss) {
  std::vector<const Variable*> variables;
  std::vector<Value> values;
  for (const auto& variable : loss.graph().variables()) {
    if (!variable->trainable || variable->local) continue;
    variables.push_back(variable.get());
    values.push_back(variable->handle);
  }
  const std::vector<Gradient> gradients = Gradients(loss, values);
  std::vector<Trained> trained;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!std::holds_alternative<std::monostate>(gradients[i])) {
      trained.push_back({variables[i], gradients[i]});
    }
  }
  if (trained.empty()) {
    std::vector<std::string> names;
    for (const Variable* const variable : variables) names.push_back(variable->name);
    throw Error(Code::kUsage,
                fmt::format("No gradients provided for any variable, check your graph for ops "
                            "that do not support gradients, between variables [{}] and loss {}.",
                            Join(names, ", "), loss.name()),
                "does `trainable` match any variable of the model?");
  }
  return trained;
}

void SumOverReplicas(std::vector<Trained>& trained, int replicas) {
  for (Trained& t : trained) {
    t.gradient = ops::CrossReplicaSum(std::get<Value>(t.gradient), replicas);
  }
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

void CheckClip(const GradientOptions& gradients) {
  if (gradients.clip_by_global_norm && !(*gradients.clip_by_global_norm > 0)) {
    throw Error(Code::kUsage, fmt::format("clip_by_global_norm is {}, expected more than 0",
                                          NumberText(*gradients.clip_by_global_norm)));
  }
}

}  // namespace

std::vector<Trained> GradientsOverReplicas(Value loss, bool mean, const MinimizeOptions& options) {
  const Value target = options.replicas > 1 && mean ? ops::Mul(loss, 1.0 / options.replicas) : loss;
  std::vector<Trained> trained = ComputeGradients(target);
  if (options.dense_gradients || options.replicas > 1) {
    for (Trained& t : trained) t.gradient = ToDense(t.gradient);
  }
  if (options.replicas > 1) SumOverReplicas(trained, options.replicas);
  return trained;
}

std::map<std::string, Value> ByVariable(const std::vector<Trained>& trained) {
  std::map<std::string, Value> gradients;
  for (const Trained& t : trained) gradients[t.variable->name] = ValuesOf(t.gradient);
  return gradients;
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
  for (const Trained& t : trained) squares.push_back(ops::Sum(ops::Square(ValuesOf(t.gradient))));
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
  const Value norm = ops::Sqrt(ops::Sum(ops::Square(values)));
  SetValues(trained.gradient,
            ops::RealDiv(ops::Mul(values, clip_norm), ops::Maximum(norm, clip_norm)));
}

void ClipByValue(Trained& trained, double most) {
  SetValues(trained.gradient, ops::ClipByValue(ValuesOf(trained.gradient), -most, most));
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
  CheckClip(gradients);
  if (gradients.clip_by_global_norm || options.gradient_norm) SumInLookups(trained);
  if (gradients.clip_by_global_norm) {
    result.gradient_norm = ClipByGlobalNorm(trained, *gradients.clip_by_global_norm);
  } else if (options.gradient_norm) {
    result.gradient_norm = GlobalNorm(trained);
  }
  result.learning_rate = LearningRateAt(graph, rate, options.steps_per_epoch);
  std::vector<Node*> updates;
  for (const Trained& t : trained) {
    const Update update{graph, *t.variable, result.learning_rate, names};
    updates.push_back(ApplyGradient(optimizer, update, t.gradient));
  }
  for (Node* const node : Finish(optimizer, graph, names)) updates.push_back(node);
  return updates;
}

Node* TrainOpAfter(Graph& graph, const std::vector<Node*>& updates, const KeptAverage& average) {
  Node* last = AdvanceGlobalStep(graph, updates);
  if (average.options != nullptr) {
    last = ApplyAverages(graph, *average.options, average.slot_scope, last);
  }
  return ops::NoOp(graph, {last}, "train_op");
}

}  // namespace tpuest::nn
