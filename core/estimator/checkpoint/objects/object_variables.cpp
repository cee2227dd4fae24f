#include "core/estimator/checkpoint/objects/object_variables.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

constexpr std::string_view kStepNames[] = {"global_step", "step", "estimator_global_step"};
constexpr std::string_view kCountNames[] = {"iter", "_iterations"};

// Returns the only one of these nodes that holds a value; nullopt if there are none or several.
std::optional<int> Only(const std::set<int>& nodes) {
  if (nodes.size() != 1) return std::nullopt;
  return *nodes.begin();
}

std::set<int> NodesNamed(const ObjectGraph& objects, std::string_view full_name) {
  std::set<int> nodes;
  for (size_t i = 0; i < objects.nodes.size(); ++i) {
    const ObjectGraph::Node& node = objects.nodes[i];
    if (!node.key.empty() && node.full_name == full_name) nodes.insert(static_cast<int>(i));
  }
  return nodes;
}

// An object of the checkpoint that may be the model.
struct Candidate {
  std::string name;  // the root's name for the object; "" for the root
  VariableNodes nodes;
  bool complete = false;
  bool fits = false;  // is complete and has the graph's shapes
};

class Finder {
 public:
  Finder(const ObjectGraph& objects, const std::vector<const Variable*>& variables,
         const ShapeOfKey& shape_of, const std::string& file)
      : objects_(objects), variables_(variables), shape_of_(shape_of), file_(file) {}

  VariableNodes Find() const {
    VariableNodes named = ByName();
    const bool all_named = std::all_of(
        variables_.begin(), variables_.end(),
        [&](const Variable* v) { return v->object_path.empty() || named.contains(v->name); });
    if (all_named) return named;
    VariableNodes placed = ByNames();
    if (placed.empty()) placed = ByPlace();
    size_t layers_named = 0;
    for (const Variable* const v : variables_) {
      if (!v->object_path.empty()) layers_named += named.count(v->name);
    }
    if (placed.size() < layers_named) return named;
    for (const Variable* const v : variables_) {
      if (!v->object_path.empty()) named.erase(v->name);
    }
    named.insert(placed.begin(), placed.end());
    return named;
  }

 private:
  VariableNodes ByName() const {
    VariableNodes nodes;
    for (const Variable* const variable : variables_) {
      const std::optional<int> node = Only(NodesNamed(objects_, variable->name));
      if (node) nodes[variable->name] = *node;
    }
    return nodes;
  }

  // The root and the objects that it names, as candidates.
  std::vector<Candidate> Candidates(bool by_names) const {
    std::vector<Candidate> candidates = {From("", 0, by_names)};
    std::set<int> seen = {0};
    for (const ObjectGraph::Child& child : objects_.at(0).children) {
      if (!seen.insert(child.node).second) continue;
      Candidate model = From(child.name, child.node, by_names);
      // Another path to the same layers is not another model.
      const bool is_new =
          std::none_of(candidates.begin(), candidates.end(),
                       [&](const Candidate& other) { return other.nodes == model.nodes; });
      if (is_new) candidates.push_back(std::move(model));
    }
    return candidates;
  }

  // Finds the only model whose layers have the names used here, as a user-defined class names them:
  // "net/l1/kernel". Empty if there is none, or if there are several.
  VariableNodes ByNames() const {
    std::vector<Candidate> candidates = Candidates(true);
    std::erase_if(candidates, [](const Candidate& model) { return !model.fits; });
    return candidates.size() == 1 ? candidates.front().nodes : VariableNodes();
  }

  VariableNodes ByPlace() const {
    const std::vector<Candidate> candidates = Candidates(false);
    for (const bool Candidate::*const quality : {&Candidate::fits, &Candidate::complete}) {
      const Candidate* const best = OnlyOne(candidates, quality);
      if (best != nullptr) return best->nodes;
    }
    const auto most = std::max_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.nodes.size() < b.nodes.size(); });
    return most->nodes;
  }

  Candidate From(const std::string& name, int start, bool by_names) const {
    Candidate candidate{.name = name, .complete = true, .fits = true};
    for (const Variable* const variable : variables_) {
      if (variable->object_path.empty()) continue;
      const std::optional<int> node =
          objects_.Walk(start, by_names ? variable->name : variable->object_path);
      const std::optional<Shape> shape = node ? shape_of_(objects_.at(*node).key) : std::nullopt;
      candidate.complete &= shape.has_value();
      candidate.fits &= shape == variable->shape;
      if (shape) candidate.nodes[variable->name] = *node;
    }
    return candidate;
  }

  const Candidate* OnlyOne(const std::vector<Candidate>& candidates,
                           const bool Candidate::*quality) const {
    const Candidate* one = nullptr;
    for (const Candidate& candidate : candidates) {
      if (!(candidate.*quality)) continue;
      if (one != nullptr) {
        throw Error(
            Code::kCheckpoint,
            fmt::format("{}: the graph's layers fit both \"{}\" and \"{}\" in it", file_, one->name,
                        candidate.name),
            "give the layers the names of their variables in the checkpoint (tpuest inspect)");
      }
      one = &candidate;
    }
    return one;
  }

  const ObjectGraph& objects_;
  const std::vector<const Variable*>& variables_;
  const ShapeOfKey& shape_of_;
  const std::string& file_;
};

}  // namespace

VariableNodes FindVariables(const ObjectGraph& objects,
                            const std::vector<const Variable*>& variables,
                            const ShapeOfKey& shape_of, const std::string& file) {
  return Finder(objects, variables, shape_of, file).Find();
}

bool IsOptimizers(const Graph& graph, const Variable& variable) {
  if (variable.name == "beta1_power" || variable.name == "beta2_power") return true;
  const size_t slash = variable.name.rfind('/');
  if (slash == std::string::npos || variable.trainable) return false;
  const std::string_view name = variable.name;
  const bool known = FindSlotNames(name.substr(slash + 1), false) != nullptr ||
                     FindSlotNames(name.substr(slash + 1), true) != nullptr;
  return known && graph.FindVariable(name.substr(0, slash)) != nullptr;
}

std::optional<int> FindGlobalStep(const ObjectGraph& objects) {
  const std::set<int> named = NodesNamed(objects, nn::kGlobalStepName);
  if (!named.empty()) return Only(named);
  for (const std::string_view name : kStepNames) {
    const std::optional<int> node = objects.at(0).Find(name);
    if (node && !objects.at(*node).key.empty()) return node;
  }
  std::set<int> counts;
  for (const ObjectGraph::Node& node : objects.nodes) {
    for (const std::string_view name : kCountNames) {
      if (const std::optional<int> count = node.Find(name)) counts.insert(*count);
    }
  }
  return Only(counts);
}

}  // namespace tpuest
