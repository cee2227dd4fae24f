#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/nn/global_step.h"
#include "core/nn/job_place.h"
#include "core/nn/optimizers/keras_updates.h"
#include "core/nn/optimizers/minimize.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/slots.h"
#include "core/nn/optimizers/trained_gradients.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

bool IsInScope(const OptimizerPart& part, const Variable& variable) {
  return part.scope.empty() || variable.name.starts_with(part.scope + "/");
}

// The part that trains a variable; the first one where no scope fits.
size_t PartOf(std::span<const OptimizerPart> parts, const Variable& variable) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (IsInScope(parts[i], variable)) return i;
  }
  return 0;
}

// The name of a part in checkpoints: "training/SGD", "training/SGD_1", ....
std::string NameOfPart(std::span<const OptimizerPart> parts, size_t part, int heads) {
  const std::string scope = heads == 1 ? "training" : fmt::format("training_{}", heads);
  const std::string_view name = NameOf(std::get<KerasOptimizer>(parts[part].optimizer));
  const auto before = std::count_if(
      parts.begin(), parts.begin() + static_cast<ptrdiff_t>(part), [&](const OptimizerPart& p) {
        const auto* const keras = std::get_if<KerasOptimizer>(&p.optimizer);
        return keras != nullptr && NameOf(*keras) == name;
      });
  return before == 0 ? fmt::format("{}/{}", scope, name)
                     : fmt::format("{}/{}_{}", scope, name, before);
}

bool IsTrainAdam(const OptimizerPart& part) {
  const auto* const optimizer = std::get_if<AnyOptimizer>(&part.optimizer);
  return optimizer != nullptr && std::holds_alternative<AdamOptimizer>(*optimizer);
}

// The powers of a second Adam are called beta1_power_1, as TensorFlow makes names unique.
OptimizerNames NamesOfPart(std::span<const OptimizerPart> parts, size_t part) {
  OptimizerNames names = parts[part].names;
  const auto before =
      std::count_if(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(part), IsTrainAdam);
  if (before > 0) names.power_ending = fmt::format("_{}", before);
  return names;
}

const Variable& IterationsOf(Graph& graph, const std::string& name, bool is_first) {
  if (is_first) return *GetOrCreateGlobalStep(graph);
  return GetOrCreateSlot(graph, name + "/iter", DType::kInt64, Shape(), 0.0);
}

// Clips the part's gradients. Returns the norm before global_clipnorm, if there is one.
Value Clip(std::vector<Trained>& trained, const KerasOptions& options) {
  if (options.clipvalue || options.clipnorm || options.global_clipnorm) SumInLookups(trained);
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

struct BuiltPart {
  TrainOp result;
  std::vector<Node*> updates;
};

BuiltPart BuildKerasPart(Graph& graph, std::span<const OptimizerPart> parts, size_t index,
                         std::vector<Trained> trained, const MinimizeOptions& options) {
  const auto& optimizer = std::get<KerasOptimizer>(parts[index].optimizer);
  const KerasOptions& own = OptionsOf(optimizer);
  const std::string name = NameOfPart(parts, index, options.heads);
  BuiltPart built;
  built.result.gradient_norm = Clip(trained, own);
  const Variable& iterations = IterationsOf(graph, name, index == 0);
  const LearningRate rate = RateOf(optimizer, parts[index].default_learning_rate);
  built.result.learning_rate =
      DecayedRate(LearningRateAt(graph, rate, options.steps_per_epoch, iterations.value), own.decay,
                  iterations.value);
  const KerasState state{graph, name, iterations.value, built.result.learning_rate};
  SaveNumbers(optimizer, state, rate);
  const KerasUpdates keras(optimizer, state);
  for (const Trained& t : trained) {
    built.updates.push_back(
        WithConstraint(options, *t.variable, keras.Apply(*t.variable, OverReplicas(t))));
  }
  if (index > 0) {
    built.updates.push_back(ops::AssignAddVariableOp(iterations.handle, graph.Scalar<int64_t>(1)));
  }
  return built;
}

bool IsOfSum(const AnyOptimizer& optimizer) {
  return std::visit(
      [](const auto& o) { return o.gradients.cross_shard_optimizer.reduction == "SUM"; },
      optimizer);
}

BuiltPart BuildTrainPart(Graph& graph, std::span<const OptimizerPart> parts, size_t index,
                         std::vector<Trained> trained, const MinimizeOptions& options) {
  const auto& optimizer = std::get<AnyOptimizer>(parts[index].optimizer);
  if (options.replicas > 1 && IsOfSum(optimizer) && !options.sums_losses) {
    ScaleBy(trained, graph.ScalarOf(DType::kFloat, options.replicas));
  }
  MinimizeOptions own = options;
  own.gradient_norm = false;  // all parts' together is asked for
  BuiltPart built;
  built.updates = ApplyTrainOptimizer(graph, optimizer, NamesOfPart(parts, index),
                                      std::move(trained), own, built.result);
  return built;
}

BuiltPart BuildPart(Graph& graph, std::span<const OptimizerPart> parts, size_t index,
                    std::vector<Trained> trained, const MinimizeOptions& options) {
  return std::holds_alternative<KerasOptimizer>(parts[index].optimizer)
             ? BuildKerasPart(graph, parts, index, std::move(trained), options)
             : BuildTrainPart(graph, parts, index, std::move(trained), options);
}

void CheckOptions(const PartOptimizer& optimizer) {
  std::visit([](const auto& family) { CheckOptions(family); }, optimizer);
}

}  // namespace

std::vector<KeptAverage> AveragesOf(const Graph& graph, std::span<const OptimizerPart> parts) {
  std::vector<KeptAverage> averages;
  const std::vector<const Variable*> trained = TrainedVariables(graph);
  for (size_t i = 0; i < parts.size(); ++i) {
    const ExponentialMovingAverage* const options = AverageOf(parts[i].optimizer);
    if (options == nullptr) continue;
    const bool is_alone = parts[i].scope.empty();
    averages.push_back({options, parts[i].names.slot_scope, {}, is_alone});
    std::copy_if(trained.begin(), trained.end(), std::back_inserter(averages.back().variables),
                 [&](const Variable* variable) { return PartOf(parts, *variable) == i; });
  }
  return averages;
}

TrainOp MinimizeParts(Value loss, std::span<const OptimizerPart> parts,
                      const MinimizeOptions& options) {
  Graph& graph = loss.graph();
  Check(!parts.empty(), "a model needs at least one optimizer");
  for (const OptimizerPart& part : parts) {
    AtPlace(graph, PlaceOf(part.optimizer), [&] { CheckOptions(part.optimizer); });
  }
  const AllGradients all = AtPlace(graph, PlaceOf(parts[0].optimizer), [&] {
    return GradientsOverReplicas(loss, !options.sums_losses, options);
  });
  std::vector<Node*> updates = options.updates;
  for (Node* const node : UpdateTables(graph, all.tables, options)) updates.push_back(node);
  TrainOp result;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<Trained> trained;
    for (const Trained& t : all.model) {
      if (PartOf(parts, *t.variable) == i) trained.push_back(t);
    }
    if (trained.empty()) continue;
    const BuiltPart part = AtPlace(graph, PlaceOf(parts[i].optimizer), [&] {
      return BuildPart(graph, parts, i, std::move(trained), options);
    });
    updates.insert(updates.end(), part.updates.begin(), part.updates.end());
    if (!result.learning_rate.valid()) result = part.result;
  }
  if (!result.learning_rate.valid()) {
    throw Error(Code::kUsage, "the model's optimizers have nothing to train besides its tables",
                "use a model of layers with one `optimizer`, which may have only tables");
  }
  if (options.gradient_norm && !result.gradient_norm.valid()) {
    std::vector<Trained> summed = all.model;
    SumInLookups(summed);
    result.gradient_norm = GlobalNorm(summed);
  }
  result.gradients = ByVariable(all);
  result.node =
      TrainOpAfter(graph, updates, WithoutTables(AveragesOf(graph, parts), options.tables));
  return result;
}

}  // namespace tpuest::nn
