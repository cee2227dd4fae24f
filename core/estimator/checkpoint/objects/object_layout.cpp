#include "core/estimator/checkpoint/objects/object_layout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/estimator/checkpoint/objects/beta_power.h"
#include "core/estimator/checkpoint/objects/object_variables.h"
#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

constexpr const char* kModel = "model";
constexpr const char* kNet = "net";
constexpr const char* kOptimizer = "optimizer";

// An optimizer of tf.keras.optimizers.legacy whose slots have the same meaning as tf.train's: the
// inputs of the update that its variables store, and the inputs that are 0. SGD with momentum is
// excluded, because it stores minus the rate times the momentum of MomentumOptimizer.
struct KerasNames {
  std::string_view op;
  std::vector<std::pair<std::string_view, std::string_view>> variables;  // variable, input
  std::vector<std::string_view> zeros;
};

const std::vector<KerasNames>& KerasOptimizers() {
  static const std::vector<std::pair<std::string_view, std::string_view>> rms_prop = {
      {"learning_rate", "lr"}, {"rho", "rho"}, {"momentum", "momentum"}};
  static const std::vector<KerasNames> all = {
      {"ResourceApplyGradientDescent", {{"learning_rate", "alpha"}}, {"decay", "momentum"}},
      {"ResourceApplyAdam",
       {{"learning_rate", "lr"}, {"beta_1", "beta1"}, {"beta_2", "beta2"}},
       {"decay"}},
      {"ResourceApplyAdagrad", {{"learning_rate", "lr"}}, {"decay"}},
      {"ResourceApplyRMSProp", rms_prop, {"decay"}},
      {"ResourceApplyCenteredRMSProp", rms_prop, {"decay"}},
  };
  return all;
}

Value InputNamed(const Node& node, std::string_view name) {
  const auto& inputs = node.signature().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return node.inputs()[i];
  }
  return {};
}

const Node* FirstOf(const Graph& graph, std::string_view op) {
  const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                  [&](const auto& node) { return node->type() == op; });
  return found == graph.nodes().end() ? nullptr : found->get();
}

// Returns "training/Adam/" for "training/Adam/dense/kernel/m".
std::string KerasScopeOf(const std::string& variable) {
  return variable.substr(0, variable.find('/', variable.find('/') + 1) + 1);
}

// Returns the scope of all variables of Keras' optimizers; "" if there is none, or more than one.
std::string OnlyKerasScope(const Graph& graph) {
  std::string scope;
  for (const auto& variable : graph.variables()) {
    if (variable->local || !IsOfKeras(variable->name)) continue;
    std::string own = KerasScopeOf(variable->name);
    if (!scope.empty() && scope != own) return "";
    scope = std::move(own);
  }
  return scope;
}

}  // namespace

ObjectLayout::ObjectLayout(const Graph& graph)
    : graph_(graph), keras_scope_(OnlyKerasScope(graph)) {
  objects_.nodes.resize(1);
  AddModel();
  if (keras_scope_.empty()) {
    AddOptimizer();
    AddKeras();
    AddStep();
  } else {
    AddEstimatorStep();
  }
  AddNames();
  objects_tensor_ = ObjectGraphTensor(objects_);
}

int ObjectLayout::Make() {
  objects_.nodes.emplace_back();
  return static_cast<int>(objects_.nodes.size()) - 1;
}

void ObjectLayout::Refer(int from, const std::string& name, int to) {
  objects_.at(from).children.push_back({name, to});
}

int ObjectLayout::At(const std::vector<std::string>& names) {
  int at = 0;
  for (const std::string& name : names) {
    const std::optional<int> there = objects_.at(at).Find(name);
    const int next = there ? *there : Make();
    if (!there) Refer(at, name, next);
    at = next;
  }
  return at;
}

const std::string& ObjectLayout::Keep(int node, const std::string& full_name, std::string key) {
  objects_.at(node).full_name = full_name;
  return objects_.at(node).key = std::move(key);
}

std::vector<std::string> ObjectLayout::PlaceOf(const Variable& variable) const {
  std::vector<std::string> names;
  if (keras_scope_.empty()) names.emplace_back(kModel);
  const std::string& path = variable.object_path.empty() ? variable.name : variable.object_path;
  for (std::string& name : Split(path, '/')) names.push_back(std::move(name));
  return names;
}

void ObjectLayout::AddModel() {
  std::vector<const Variable*> of_optimizer;
  for (const auto& variable : graph_.variables()) {
    if (variable->local || variable->name == nn::kGlobalStepName) continue;
    if (!keras_scope_.empty() && variable->name.starts_with(keras_scope_)) {
      of_optimizer.push_back(variable.get());
      continue;
    }
    if (keras_scope_.empty() && IsOptimizers(graph_, *variable)) continue;
    const std::vector<std::string> place = PlaceOf(*variable);
    nodes_[variable->name] = At(place);
    Keep(nodes_[variable->name], variable->name, VariableKey(place));
  }
  for (const Variable* const variable : of_optimizer) AddKerasVariable(*variable);
}

// Adds a slot, "training/Adam/dense/kernel/m", or a number of the optimizer,
// "training/Adam/beta_1".
void ObjectLayout::AddKerasVariable(const Variable& variable) {
  const std::string own = variable.name.substr(keras_scope_.size());
  const size_t slash = own.rfind('/');
  const Variable* const base =
      slash == std::string::npos ? nullptr : graph_.FindVariable(own.substr(0, slash));
  const int node = nodes_[variable.name] = base == nullptr ? At({kOptimizer, own}) : Make();
  if (base == nullptr) {
    Keep(node, variable.name, VariableKey({kOptimizer, own}));
    return;
  }
  const std::string slot = own.substr(slash + 1);
  Keep(node, variable.name, SlotKey(PlaceOf(*base), {kOptimizer}, slot));
  objects_.at(At({kOptimizer})).slots.push_back({nodes_.at(base->name), slot, node});
}

void ObjectLayout::AddOptimizer() {
  for (const auto& variable : graph_.variables()) {
    if (variable->local || !IsOptimizers(graph_, *variable)) continue;
    if (variable->name.find('/') != std::string::npos) {
      AddSlot(*variable);
      continue;
    }
    nodes_[variable->name] = At({kOptimizer, variable->name});
    Keep(nodes_[variable->name], variable->name, VariableKey({kOptimizer, variable->name}));
  }
}

void ObjectLayout::AddSlot(const Variable& variable) {
  const size_t slash = variable.name.rfind('/');
  const std::string base = variable.name.substr(0, slash);
  const bool centered = graph_.FindVariable(base + "/RMSProp_2") != nullptr;
  const SlotNames* const names = FindSlotNames(variable.name.substr(slash + 1), centered);
  Check(names != nullptr, "\"{}\" is not a slot", variable.name);
  const int node = nodes_[variable.name] = Make();
  Keep(node, variable.name,
       SlotKey(PlaceOf(*graph_.FindVariable(base)), {kOptimizer}, names->objects.front()));
  objects_.at(At({kOptimizer}))
      .slots.push_back({nodes_.at(base), std::string(names->objects.front()), node});
}

// Adds the Keras optimizer's own variables. A rate that changes is not stored, as in Keras.
void ObjectLayout::AddKeras() {
  for (const KerasNames& keras : KerasOptimizers()) {
    const Node* const update = FirstOf(graph_, keras.op);
    if (update == nullptr) continue;
    const auto keep = [&](std::string_view name, const Tensor& value) {
      const std::vector<std::string> place = {kOptimizer, std::string(name)};
      const int node = At(place);
      constants_[Keep(node, place.back(), VariableKey(place))] = value;
    };
    for (const auto& [name, input] : keras.variables) {
      const Tensor value = ConstantValue(InputNamed(*update, input));
      if (value.valid()) keep(name, value);
    }
    for (const std::string_view name : keras.zeros) keep(name, Tensor::Scalar(0.0F));
    const std::vector<std::string> place = {kOptimizer, "iter"};
    count_key_ = Keep(At(place), place.back(), VariableKey(place));
    return;
  }
}

void ObjectLayout::AddStep() {
  const std::string name(nn::kGlobalStepName);
  if (graph_.FindVariable(name) == nullptr) return;
  const int step = nodes_[name] = At({"step"});
  Keep(step, name, VariableKey({"step"}));
  Refer(0, name, step);
  save_counter_key_ = Keep(At({"save_counter"}), "save_counter", VariableKey({"save_counter"}));
}

void ObjectLayout::AddEstimatorStep() {
  const std::string name(nn::kGlobalStepName);
  if (graph_.FindVariable(name) == nullptr) return;
  const int step = nodes_[name] = At({"estimator_global_step"});
  Keep(step, name, VariableKey({"estimator_global_step"}));
  Refer(0, "step", step);
  Refer(0, name, step);
  const int count = At({kOptimizer, "iter"});
  Keep(count, "iter", VariableKey({"estimator_global_step"}));
}

void ObjectLayout::AddNames() {
  const auto refer = [&](int from, const std::string& name, int to) {
    if (!objects_.at(from).Find(name)) Refer(from, name, to);
  };
  std::set<int> layers;
  for (const auto& variable : graph_.variables()) {
    if (variable->object_path.empty() || !nodes_.contains(variable->name)) continue;
    std::vector<std::string> place = PlaceOf(*variable);
    std::vector<std::string> names = Split(variable->name, '/');
    layers.insert(At({place.front()}));
    place.pop_back();
    names.pop_back();
    if (place.empty() || names.empty()) continue;
    const int layer = At(place);
    place.pop_back();
    refer(At(place), names.back(), layer);
  }
  if (keras_scope_.empty()) {
    refer(0, kNet, At({kModel}));
    return;
  }
  // TensorFlow treats an object as one kind only, so the root cannot also be a model in it.
  const int net = Make();
  for (const ObjectGraph::Child& child : std::vector(objects_.at(0).children)) {
    if (layers.contains(child.node)) Refer(net, child.name, child.node);
  }
  refer(0, kModel, net);
  refer(0, kNet, net);
}

// Returns the number of steps in Adam's powers: less than global_step if the run resumed from a
// checkpoint whose optimizer had made fewer.
int64_t ObjectLayout::Count(VariableStore& store) const {
  const int64_t step = *store.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
  const Variable* const power = graph_.FindVariable("beta2_power");
  if (power == nullptr) return step;
  const Tensor beta = ConstantValue(power->initial_value);
  if (!beta.valid() || beta.dtype() != DType::kFloat) return step;
  const float now = *store.Get(power->name).data<float>();
  return StepsOfBetaPower(*beta.data<float>(), now).value_or(step);
}

std::vector<NamedTensor> ObjectLayout::Tensors(VariableStore& store) const {
  std::vector<NamedTensor> tensors = {{std::string(kObjectGraphKey), objects_tensor_}};
  for (const auto& [name, node] : nodes_) {
    tensors.push_back({objects_.at(node).key, store.Get(name)});
  }
  for (const auto& [key, value] : constants_) tensors.push_back({key, value});
  if (!count_key_.empty()) {
    tensors.push_back({count_key_, Tensor::Scalar<int64_t>(Count(store))});
  }
  if (!save_counter_key_.empty()) {
    tensors.push_back({save_counter_key_, store.Get(std::string(nn::kGlobalStepName)).Clone()});
  }
  return tensors;
}

}  // namespace tpuest
