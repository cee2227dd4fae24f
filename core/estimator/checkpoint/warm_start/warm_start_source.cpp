#include "core/estimator/checkpoint/warm_start/warm_start_source.h"

#include <algorithm>

#include "core/estimator/checkpoint/objects/object_variables.h"
#include "core/estimator/checkpoint/saved/object_values.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/slice_order.h"
#include "core/nn/global_step.h"

namespace tpuest {

WarmStartSource::WarmStartSource(const std::string& prefix, const Graph& graph,
                                 const std::vector<const Variable*>& variables, bool dealt_by_mod)
    : reader_(prefix), dealt_by_mod_(dealt_by_mod), objects_(ReadObjectGraph(reader_)) {
  if (!objects_) return;
  std::vector<const Variable*> model;
  for (const Variable* const variable : variables) {
    const bool is_step = variable->name == nn::kGlobalStepName;
    if (!is_step && !IsOptimizers(graph, *variable)) model.push_back(variable);
  }
  const auto shape_of = [this](const std::string& key) -> std::optional<Shape> {
    if (!reader_.Has(key)) return std::nullopt;
    return reader_.ShapeOf(key);
  };
  for (const auto& [name, node] : FindVariables(*objects_, model, shape_of, prefix)) {
    keys_[name] = objects_->at(node).key;
  }
  if (model.size() < variables.size()) {
    optimizers_ = ValuesFromObjects(LoadCheckpoint(prefix), graph);
  }
}

std::string WarmStartSource::KeyOf(const std::string& name) const {
  const auto found = keys_.find(name);
  if (found != keys_.end()) return found->second;
  if (!objects_ || reader_.Has(name)) return name;
  const auto node =
      std::find_if(objects_->nodes.begin(), objects_->nodes.end(),
                   [&](const auto& n) { return !n.key.empty() && n.full_name == name; });
  return node == objects_->nodes.end() ? name : node->key;
}

std::optional<WarmStartSource::Entry> WarmStartSource::Find(const std::string& name,
                                                            const std::string& previous) const {
  const std::string key = KeyOf(previous.empty() ? name : previous);
  if (reader_.Has(key)) return Entry{key, reader_.ShapeOf(key), reader_.DTypeOf(key)};
  const auto found = optimizers_.find(key);
  if (found == optimizers_.end()) return std::nullopt;
  return Entry{key, found->second.shape(), found->second.dtype()};
}

Tensor WarmStartSource::Read(const Entry& entry) const {
  return reader_.Has(entry.key) ? ReadInRowOrder(reader_, entry.key, dealt_by_mod_)
                                : optimizers_.at(entry.key);
}

}  // namespace tpuest
