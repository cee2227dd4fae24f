#include "core/estimator/checkpoint/saved/object_values.h"

#include <algorithm>
#include <set>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/objects/beta_power.h"
#include "core/estimator/checkpoint/objects/object_variables.h"
#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

constexpr const char* kWayOut =
    "warm_start_from takes only the trainable variables, and starts a new run";

class Values {
 public:
  Values(const SavedState& saved, const Graph& graph)
      : saved_(saved), objects_(*saved.objects), graph_(graph), file_(BaseName(saved.prefix)) {
    std::vector<const Variable*> model;
    for (const auto& variable : graph.variables()) {
      const bool is_step = variable->name == nn::kGlobalStepName;
      if (variable->local || is_step) continue;
      if (IsOfKeras(variable->name)) of_keras_.push_back(variable.get());
      (IsOptimizers(graph, *variable) ? optimizers_variables_ : model).push_back(variable.get());
    }
    nodes_ = FindVariables(
        objects_, model,
        [&](const std::string& key) -> std::optional<Shape> {
          const auto found = saved.tensors.find(key);
          if (found == saved.tensors.end()) return std::nullopt;
          return found->second.shape();
        },
        file_);
    FindOptimizers();
  }

  std::map<std::string, Tensor> Take() {
    for (const auto& [name, node] : nodes_) Put(name, ValueAt(node));
    for (const Variable* const variable : optimizers_variables_) {
      const size_t slash = variable->name.rfind('/');
      Put(variable->name, slash == std::string::npos ? PowerOf(*variable)
                                                     : SlotOf(variable->name.substr(0, slash),
                                                              variable->name.substr(slash + 1)));
    }
    for (const Variable* const variable : of_keras_) {
      if (!values_.contains(variable->name)) Put(variable->name, OfKeras(*variable));
    }
    const auto step = saved_.tensors.find(std::string(nn::kGlobalStepName));
    if (step != saved_.tensors.end()) Put(step->first, step->second);
    return std::move(values_);
  }

 private:
  void Put(const std::string& name, const Tensor& value) {
    if (value.valid()) values_[name] = value;
  }

  // The stored value of a node; invalid if there is none.
  [[nodiscard]] Tensor ValueAt(std::optional<int> node) const {
    if (!node) return {};
    const auto found = saved_.tensors.find(objects_.at(*node).key);
    return found == saved_.tensors.end() ? Tensor() : found->second;
  }

  // The number that an object stores under the first of these names that exists.
  [[nodiscard]] std::optional<double> NumberAt(
      int node, std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const Tensor value = ValueAt(objects_.at(node).Find(name));
      const bool number = value.valid() && value.elements() == 1 && SizeOf(value.dtype()) > 0 &&
                          value.dtype() != DType::kHalf;
      if (number) return value.AsDouble(0);
    }
    return std::nullopt;
  }

  // Finds the objects that keep slots for the graph's variables.
  void FindOptimizers() {
    for (int i = 0; i < static_cast<int>(objects_.nodes.size()); ++i) {
      const bool keeps = std::any_of(nodes_.begin(), nodes_.end(),
                                     [&](const auto& entry) { return KeepsSlot(i, entry.second); });
      if (keeps) optimizers_.push_back(i);
    }
  }

  [[nodiscard]] bool KeepsSlot(int optimizer, int variable) const {
    const auto& slots = objects_.at(optimizer).slots;
    if (std::any_of(slots.begin(), slots.end(),
                    [&](const auto& slot) { return slot.variable == variable; })) {
      return true;
    }
    const std::optional<int> list = objects_.at(optimizer).Find("_variables");
    if (!list) return false;
    const auto& members = objects_.at(*list).children;
    return std::any_of(members.begin(), members.end(),
                       [&](const auto& member) { return IsFor(member.node, variable); });
  }

  // ---- slots ----

  Tensor SlotOf(const std::string& base, const std::string& suffix) const {
    const auto found = nodes_.find(base);
    const bool centered = graph_.FindVariable(base + "/RMSProp_2") != nullptr;
    const SlotNames* const names = FindSlotNames(suffix, centered);
    if (found == nodes_.end() || names == nullptr) return {};
    std::set<std::pair<int, int>> hits;  // optimizer, node
    for (const int optimizer : optimizers_) {
      for (const int node : SlotNodes(optimizer, found->second, *names)) {
        hits.emplace(optimizer, node);
      }
    }
    if (hits.empty()) return {};
    if (hits.size() > 1) {
      throw Error(Code::kCheckpoint,
                  fmt::format("{}: several of its optimizers have a slot {} of \"{}\"", file_,
                              names->objects.front(), base),
                  kWayOut);
    }
    const auto [optimizer, node] = *hits.begin();
    const Tensor value = ValueAt(node);
    const bool negated_and_scaled = suffix == "Momentum" && IsKeras(optimizer);
    return negated_and_scaled && value.valid() ? FromKerasMomentum(optimizer, value) : value;
  }

  std::set<int> SlotNodes(int optimizer, int variable, const SlotNames& names) const {
    std::set<int> nodes;
    if (!IsOfFamily(optimizer, names)) return nodes;
    for (const ObjectGraph::Slot& slot : objects_.at(optimizer).slots) {
      const bool named =
          std::find(names.objects.begin(), names.objects.end(), slot.name) != names.objects.end();
      if (named && slot.variable == variable && Suits(slot, names)) nodes.insert(slot.node);
    }
    if (!nodes.empty()) return nodes;
    const std::optional<int> list =
        names.list.empty() ? std::nullopt : objects_.at(optimizer).Find(names.list);
    if (!list) return nodes;
    for (const ObjectGraph::Child& member : objects_.at(*list).children) {
      if (IsFor(member.node, variable)) nodes.insert(member.node);
    }
    return nodes;
  }

  bool IsOfFamily(int optimizer, const SlotNames& names) const {
    const auto& slots = objects_.at(optimizer).slots;
    return std::all_of(slots.begin(), slots.end(), [&](const auto& slot) {
      return std::find(names.family.begin(), names.family.end(), slot.name) != names.family.end();
    });
  }

  // Whether the slot's own name is that of these slots, if it is a name of tf.train.
  bool Suits(const ObjectGraph::Slot& slot, const SlotNames& names) const {
    const std::string& own = objects_.at(slot.node).full_name;
    const std::string base = objects_.at(slot.variable).full_name + "/";
    return !own.starts_with(base) || own == base + std::string(names.suffix);
  }

  // Keras' optimizers since 2.11 name their variables "Adam/m/dense/kernel".
  bool IsFor(int member, int variable) const {
    std::string_view name = objects_.at(member).full_name;
    for (int i = 0; i < 2; ++i) {
      const size_t slash = name.find('/');
      if (slash == std::string_view::npos) return false;
      name.remove_prefix(slash + 1);
    }
    return name == objects_.at(variable).full_name;
  }

  bool IsKeras(int optimizer) const {
    const ObjectGraph::Node& node = objects_.at(optimizer);
    return node.Find("iter") || node.Find("_iterations");
  }

  // Converts momentum: a = -v / rate. Keras: v = m v - rate g, w += v. tf.train: a = m a + g, w -=
  // rate a.
  Tensor FromKerasMomentum(int optimizer, const Tensor& value) const {
    const std::optional<double> rate = NumberAt(optimizer, {"learning_rate", "_learning_rate"});
    const bool decays = NumberAt(optimizer, {"decay"}).value_or(0) != 0;
    if (!rate || *rate == 0 || decays || value.dtype() != DType::kFloat) {
      throw Error(Code::kCheckpoint,
                  fmt::format("{}: Keras' SGD stores minus the learning rate times the momentum of "
                              "MomentumOptimizer, but the checkpoint has no constant rate",
                              file_),
                  kWayOut);
    }
    Tensor scaled(DType::kFloat, value.shape());
    const auto divisor = static_cast<float>(-*rate);
    for (int64_t i = 0; i < value.elements(); ++i) {
      scaled.data<float>()[i] = value.data<float>()[i] / divisor;
    }
    return scaled;
  }

  // A slot, "training/Adam/dense/kernel/m", or a number, "training/Adam/beta_1", of a Keras
  // optimizer that stores it as an object.
  Tensor OfKeras(const Variable& variable) const {
    const size_t scope = variable.name.find('/', variable.name.find('/') + 1);
    const std::string own = variable.name.substr(scope + 1);
    const size_t slash = own.rfind('/');
    const auto base = slash == std::string::npos ? nodes_.end() : nodes_.find(own.substr(0, slash));
    std::set<int> hits;
    for (const int optimizer : optimizers_) {
      if (slash == std::string::npos) {
        if (const std::optional<int> node = objects_.at(optimizer).Find(own)) hits.insert(*node);
        continue;
      }
      for (const ObjectGraph::Slot& slot : objects_.at(optimizer).slots) {
        const bool is_it = base != nodes_.end() && slot.variable == base->second &&
                           slot.name == own.substr(slash + 1);
        if (is_it) hits.insert(slot.node);
      }
    }
    return hits.size() == 1 ? ValueAt(*hits.begin()) : Tensor();
  }

  // ---- Adam's powers ----

  Tensor PowerOf(const Variable& power) const {
    std::set<int> stored;
    std::set<int> counted;
    for (const int optimizer : optimizers_) {
      const std::optional<int> node = objects_.at(optimizer).Find(power.name);
      if (node && ValueAt(node).valid()) stored.insert(*node);
      if (NumberAt(optimizer, {"iter", "_iterations"})) counted.insert(optimizer);
    }
    if (stored.size() == 1) return ValueAt(*stored.begin());
    if (stored.empty() && counted.size() == 1) return PowerFromCount(power, *counted.begin());
    return {};
  }

  Tensor PowerFromCount(const Variable& power, int optimizer) const {
    const Tensor initial = ConstantValue(power.initial_value);
    if (!initial.valid() || initial.dtype() != DType::kFloat || initial.elements() != 1) return {};
    const float beta = *initial.data<float>();
    const std::string_view stored_name = power.name == "beta1_power" ? "beta_1" : "beta_2";
    const std::optional<double> stored = NumberAt(optimizer, {stored_name});
    if (stored && static_cast<float>(*stored) != beta) {
      throw Error(
          Code::kCheckpoint,
          fmt::format("{}: {} of Adam is {} in the checkpoint, {} in the graph", file_, stored_name,
                      NumberText(static_cast<float>(*stored)), NumberText(beta)),
          "set the same value in the optimizer, or name another model_dir");
    }
    const double count = NumberAt(optimizer, {"iter", "_iterations"}).value_or(-1);
    constexpr double kMost = 1e15;
    if (!(count >= 0 && count <= kMost)) return {};
    return Tensor::Scalar<float>(BetaPower(beta, static_cast<int64_t>(count)));
  }

  const SavedState& saved_;
  const ObjectGraph& objects_;
  const Graph& graph_;
  std::string file_;
  std::vector<const Variable*> optimizers_variables_;
  std::vector<const Variable*> of_keras_;
  VariableNodes nodes_;
  std::vector<int> optimizers_;
  std::map<std::string, Tensor> values_;
};

}  // namespace

std::map<std::string, Tensor> ValuesFromObjects(const SavedState& saved, const Graph& graph) {
  return Values(saved, graph).Take();
}

std::string SlotsOfObjects(const ObjectGraph& objects) {
  std::set<std::string> names;
  for (const ObjectGraph::Node& node : objects.nodes) {
    for (const ObjectGraph::Slot& slot : node.slots) names.insert(slot.name);
    if (!node.Find("_iterations")) continue;
    for (const ObjectGraph::Child& child : node.children) {
      const bool is_list = !objects.at(child.node).children.empty() && child.name != "_variables";
      if (is_list) names.insert(child.name);
    }
  }
  return names.empty() ? "none" : Join({names.begin(), names.end()}, ", ");
}

}  // namespace tpuest
