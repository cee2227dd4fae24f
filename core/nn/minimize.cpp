#include "core/nn/minimize.h"

#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/graph/gradient.h"
#include "core/nn/global_step.h"
#include "core/nn/optimizer_updates.h"
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
    values.push_back(variable->value);
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

// tf.clip_by_global_norm: every gradient times clip_norm * min(1 / norm, 1 / clip_norm). Returns
// the norm. A norm that is not finite makes every gradient NaN.
Value ClipByGlobalNorm(std::vector<Trained>& trained, double clip_norm) {
  Graph& graph = trained[0].variable->handle.graph();
  const NameScope scope(graph, "clip_by_global_norm");
  std::vector<Value> squares;
  for (const Trained& t : trained) squares.push_back(ops::Sum(ops::Square(ValuesOf(t.gradient))));
  const Value norm = ops::Sqrt(ops::AddN(squares), "global_norm");
  const Value one = graph.ScalarOf(DType::kFloat, 1.0);
  const Value factor =
      ops::Mul(ops::Minimum(ops::RealDiv(one, norm),
                            ops::RealDiv(one, graph.ScalarOf(DType::kFloat, clip_norm))),
               clip_norm);
  // norm - norm is 0 where the norm is finite, else NaN.
  const Value scale = ops::AddV2(factor, ops::Sub(norm, norm));
  for (Trained& t : trained) {
    if (auto* const slices = std::get_if<IndexedSlices>(&t.gradient)) {
      slices->values = ops::Mul(slices->values, scale);
    } else {
      t.gradient = ops::Mul(std::get<Value>(t.gradient), scale);
    }
  }
  return norm;
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

TrainOp Build(Value loss, const AnyOptimizer& optimizer, const GradientOptions& gradients,
              const LearningRate& rate, const MinimizeOptions& options) {
  CheckOptions(optimizer);
  if (gradients.clip_by_global_norm && !(*gradients.clip_by_global_norm > 0)) {
    throw Error(Code::kUsage, fmt::format("clip_by_global_norm is {}, expected more than 0",
                                          NumberText(*gradients.clip_by_global_norm)));
  }
  Graph& graph = loss.graph();
  const bool mean = gradients.cross_shard_optimizer.reduction == "MEAN";
  const Value target = options.replicas > 1 && mean ? ops::Mul(loss, 1.0 / options.replicas) : loss;
  std::vector<Trained> trained = ComputeGradients(target);
  if (options.dense_gradients || options.replicas > 1) {
    for (Trained& t : trained) t.gradient = ToDense(t.gradient);
  }
  if (options.replicas > 1) SumOverReplicas(trained, options.replicas);

  TrainOp result;
  if (gradients.clip_by_global_norm) {
    result.gradient_norm = ClipByGlobalNorm(trained, *gradients.clip_by_global_norm);
  }
  result.learning_rate = LearningRateAt(graph, rate, options.steps_per_epoch);
  std::vector<Node*> updates = options.updates;
  for (const Trained& t : trained) {
    const Update update{graph, *t.variable, result.learning_rate};
    updates.push_back(ApplyGradient(optimizer, update, t.gradient));
  }
  for (Node* const node : Finish(optimizer, graph)) updates.push_back(node);
  result.node = ops::NoOp(graph, {AdvanceGlobalStep(graph, updates)}, "train_op");
  return result;
}

}  // namespace

TrainOp Minimize(Value loss, const AnyOptimizer& optimizer, const MinimizeOptions& options) {
  return std::visit(
      [&](const auto& o) {
        const OriginScope origin(loss.graph(), o.place);
        try {
          return Build(loss, optimizer, o.gradients, o.learning_rate, options);
        } catch (Error& error) {
          if (error.faults().front().place.line > 0) throw;
          throw std::move(error).At(o.place);
        }
      },
      optimizer);
}

}  // namespace tpuest::nn
