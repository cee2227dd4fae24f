#include "core/nn/minimize.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/graph/gradient.h"
#include "core/nn/global_step.h"
#include "core/nn/job_place.h"
#include "core/nn/keras_updates.h"
#include "core/nn/optimizer_updates.h"
#include "core/nn/slots.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

struct Trained {
  const Variable* variable = nullptr;
  Gradient gradient;  // a Value or IndexedSlices
};

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
    slices->values = values;
  } else {
    gradient = values;
  }
}

// tf.linalg.global_norm.
Value GlobalNorm(const std::vector<Trained>& trained) {
  std::vector<Value> squares;
  for (const Trained& t : trained) squares.push_back(ops::Sum(ops::Square(ValuesOf(t.gradient))));
  return ops::Sqrt(ops::AddN(squares), "global_norm");
}

// tf.clip_by_global_norm: every gradient times clip_norm * min(1 / norm, 1 / clip_norm). Returns
// the norm. A norm that is not finite makes every gradient NaN.
Value ClipByGlobalNorm(std::vector<Trained>& trained, double clip_norm) {
  Graph& graph = trained[0].variable->handle.graph();
  const NameScope scope(graph, "clip_by_global_norm");
  const Value norm = GlobalNorm(trained);
  const Value one = graph.ScalarOf(DType::kFloat, 1.0);
  const Value factor =
      ops::Mul(ops::Minimum(ops::RealDiv(one, norm),
                            ops::RealDiv(one, graph.ScalarOf(DType::kFloat, clip_norm))),
               clip_norm);
  // norm - norm is 0 where the norm is finite, else NaN.
  const Value scale = ops::AddV2(factor, ops::Sub(norm, norm));
  for (Trained& t : trained) SetValues(t.gradient, ops::Mul(ValuesOf(t.gradient), scale));
  return norm;
}

// tf.clip_by_norm: a gradient times norm / max(norm, its own).
void ClipByNorm(Trained& trained, double clip_norm) {
  const Value values = ValuesOf(trained.gradient);
  const Value norm = ops::Sqrt(ops::Sum(ops::Square(values)));
  SetValues(trained.gradient,
            ops::RealDiv(ops::Mul(values, clip_norm), ops::Maximum(norm, clip_norm)));
}

void ClipByValue(Trained& trained, double most) {
  SetValues(trained.gradient, ops::ClipByValue(ValuesOf(trained.gradient), -most, most));
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

Node* TrainOpAfter(Graph& graph, const std::vector<Node*>& updates,
                   const std::optional<ExponentialMovingAverage>& average = {}) {
  Node* last = AdvanceGlobalStep(graph, updates);
  if (average) last = ApplyAverages(graph, *average, last);
  return ops::NoOp(graph, {last}, "train_op");
}

// The gradients of the replicas' mean loss (or of the sum), the same on all replicas.
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

TrainOp Build(Value loss, const AnyOptimizer& optimizer, const GradientOptions& gradients,
              const LearningRate& rate, const MinimizeOptions& options) {
  CheckOptions(optimizer);
  if (gradients.clip_by_global_norm && !(*gradients.clip_by_global_norm > 0)) {
    throw Error(Code::kUsage, fmt::format("clip_by_global_norm is {}, expected more than 0",
                                          NumberText(*gradients.clip_by_global_norm)));
  }
  Graph& graph = loss.graph();
  const bool mean = gradients.cross_shard_optimizer.reduction == "MEAN";
  std::vector<Trained> trained = GradientsOverReplicas(loss, mean, options);

  TrainOp result;
  result.gradients = ByVariable(trained);
  if (gradients.clip_by_global_norm) {
    result.gradient_norm = ClipByGlobalNorm(trained, *gradients.clip_by_global_norm);
  } else if (options.gradient_norm) {
    result.gradient_norm = GlobalNorm(trained);
  }
  result.learning_rate = LearningRateAt(graph, rate, options.steps_per_epoch);
  std::vector<Node*> updates = options.updates;
  for (const Trained& t : trained) {
    const Update update{graph, *t.variable, result.learning_rate};
    updates.push_back(ApplyGradient(optimizer, update, t.gradient));
  }
  for (Node* const node : Finish(optimizer, graph)) updates.push_back(node);
  result.node = TrainOpAfter(graph, updates, gradients.exponential_moving_average);
  return result;
}

// ---- parts --------------------------------------------------------------------------------------

bool IsInScope(const OptimizerPart& part, const Variable& variable) {
  return part.scope.empty() || variable.name.starts_with(part.scope + "/");
}

// The part that trains a variable.
size_t PartOf(std::span<const OptimizerPart> parts, const Variable& variable) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (IsInScope(parts[i], variable)) return i;
  }
  return 0;
}

// "training/SGD", "training/SGD_1", ...
std::string NameOfPart(std::span<const OptimizerPart> parts, size_t part) {
  const std::string_view name = NameOf(parts[part].optimizer);
  const auto before =
      std::count_if(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(part),
                    [&](const OptimizerPart& p) { return NameOf(p.optimizer) == name; });
  return before == 0 ? fmt::format("training/{}", name)
                     : fmt::format("training/{}_{}", name, before);
}

const Variable& IterationsOf(Graph& graph, const std::string& name, bool is_first) {
  if (is_first) return *GetOrCreateGlobalStep(graph);
  return GetOrCreateSlot(graph, name + "/iter", DType::kInt64, Shape(), 0.0);
}

// Returns the norm before global_clipnorm, if there is one.
Value Clip(std::vector<Trained>& trained, const KerasOptions& options) {
  for (Trained& t : trained) {
    if (options.clipvalue) ClipByValue(t, *options.clipvalue);
    if (options.clipnorm) ClipByNorm(t, *options.clipnorm);
  }
  return options.global_clipnorm ? ClipByGlobalNorm(trained, *options.global_clipnorm) : Value();
}

// The rate divided by 1 + decay * iterations.
Value DecayedRate(Value rate, double decay, Value iterations) {
  if (decay == 0.0) return rate;
  const Value steps = ops::Cast(iterations, DType::kFloat);
  return ops::RealDiv(rate, ops::AddV2(ops::Mul(steps, decay), 1.0));
}

// One part's updates go to `updates`.
TrainOp BuildPart(Graph& graph, const OptimizerPart& part, const std::string& name, bool is_first,
                  std::vector<Trained> trained, const MinimizeOptions& options,
                  std::vector<Node*>& updates) {
  const KerasOptions& own = OptionsOf(part.optimizer);
  TrainOp result;
  result.gradient_norm = Clip(trained, own);
  const Variable& iterations = IterationsOf(graph, name, is_first);
  const LearningRate rate = RateOf(part.optimizer, part.default_learning_rate);
  result.learning_rate =
      DecayedRate(LearningRateAt(graph, rate, options.steps_per_epoch, iterations.value), own.decay,
                  iterations.value);
  const KerasState state{graph, name, iterations.value, result.learning_rate};
  SaveNumbers(part.optimizer, state, rate);
  const KerasUpdates keras(part.optimizer, state);
  for (const Trained& t : trained) updates.push_back(keras.Apply(*t.variable, t.gradient));
  if (!is_first) {
    updates.push_back(ops::AssignAddVariableOp(iterations.handle, graph.Scalar<int64_t>(1)));
  }
  return result;
}

}  // namespace

TrainOp Minimize(Value loss, const AnyOptimizer& optimizer, const MinimizeOptions& options) {
  return std::visit(
      [&](const auto& o) {
        return AtPlace(loss.graph(), o.place, [&] {
          return Build(loss, optimizer, o.gradients, o.learning_rate, options);
        });
      },
      optimizer);
}

TrainOp MinimizeParts(Value loss, std::span<const OptimizerPart> parts,
                      const MinimizeOptions& options) {
  Graph& graph = loss.graph();
  Check(!parts.empty(), "a model is trained by an optimizer at least");
  for (const OptimizerPart& part : parts) {
    AtPlace(graph, PlaceOf(part.optimizer), [&] { CheckOptions(part.optimizer); });
  }
  const std::vector<Trained> all = AtPlace(graph, PlaceOf(parts[0].optimizer), [&] {
    return GradientsOverReplicas(loss, /*mean=*/true, options);
  });
  std::vector<Node*> updates = options.updates;
  TrainOp result;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<Trained> trained;
    for (const Trained& t : all) {
      if (PartOf(parts, *t.variable) == i) trained.push_back(t);
    }
    if (trained.empty()) continue;
    const TrainOp part = AtPlace(graph, PlaceOf(parts[i].optimizer), [&] {
      return BuildPart(graph, parts[i], NameOfPart(parts, i), i == 0, std::move(trained), options,
                       updates);
    });
    if (!result.learning_rate.valid()) result = part;
  }
  if (options.gradient_norm && !result.gradient_norm.valid()) {
    result.gradient_norm = GlobalNorm(all);
  }
  result.gradients = ByVariable(all);
  result.node = TrainOpAfter(graph, updates);
  return result;
}

}  // namespace tpuest::nn
