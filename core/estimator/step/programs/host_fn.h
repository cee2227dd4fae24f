#pragma once
// A fn of a spec that runs on the host: its metric_fn, or that of its host_call. It is called with
// placeholders for tensors from the device and builds a graph on them, once per set of tensor
// names; all its graphs share their variables, which keep their values.

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/estimator/step/programs/host_graph.h"

namespace tpuest {

struct HostFnArgs {
  std::string name;  // "host_call", "eval_metrics"
  // All of these outlive it.
  Backend& backend;
  const OpRegistry& registry;
  Log& log;
  int threads = 1;
  // The values of the model's variables, for a fn that reads them by name. nullptr: the fn has only
  // its own variables.
  const VariableStore* model = nullptr;
};

// The variables of all graphs of a fn.
class HostVariables {
 public:
  explicit HostVariables(const HostFnArgs& args) : backend_(args.backend), model_(args.model) {}

  [[nodiscard]] VariableStore& store() { return store_; }
  // Gives the graph's variables their first values if they have none: the model's, or initial ones.
  void Add(const Graph& graph);
  // Resets all variables to their first values.
  void Reset();
  // Drops all variables.
  void Clear();

 private:
  Backend& backend_;
  const VariableStore* const model_;
  VariableStore store_;
  std::map<std::string, Tensor> first_;  // an invalid tensor: the model's current value
};

// A graph with placeholders for tensors of certain names, and its programs.
struct HostFnGraph {
  HostFnGraph(const HostFnArgs& args, VariableStore& variables,
              const std::map<std::string, Value>& tensors);

  // Returns feeds of the placeholders from tensors, which are in the order of their names.
  [[nodiscard]] std::vector<std::pair<Value, Tensor>> Feeds(std::span<const Tensor> tensors) const;

  Graph graph;
  HostGraph programs;
  std::map<std::string, Value> placeholders;  // each with any number of rows
};

// Calls `build`, which calls the fn of this name. Rethrows its errors after a warning with the
// likely reason.
template <class Build>
[[nodiscard]] auto CallNamed(std::string_view name, Log& log, Build&& build) {
  try {
    return build();
  } catch (const std::exception& error) {
    log.Warning(
        "Exception while calling {}: {}. It is likely the tensors ({}[1]) do not match the "
        "function's arguments",
        name, error.what(), name);
    throw;
  }
}

// The graphs of one fn, whose result is an `Ops`.
template <class Ops>
class HostFn {
 public:
  using Fn = std::function<Ops(Graph& graph, const std::map<std::string, Value>& tensors)>;
  using Check = void(const Ops& ops);  // throws if they are not as required
  struct Built : HostFnGraph {
    using HostFnGraph::HostFnGraph;
    Ops ops;
  };

  explicit HostFn(HostFnArgs args) : args_(std::move(args)), variables_(args_) {}
  HostFn(const HostFn&) = delete;  // its graphs refer to its variables
  HostFn& operator=(const HostFn&) = delete;

  // Returns the graph for tensors of these names; the fn builds it on first use. Throws errors of
  // the fn and of `check`.
  [[nodiscard]] Built& For(const std::map<std::string, Value>& tensors, const Fn& fn,
                           Check* check) {
    std::vector<std::string> names;
    for (const auto& [name, value] : tensors) names.push_back(name);
    const auto found = built_.find(names);
    if (found != built_.end()) return *found->second;
    auto built = std::make_unique<Built>(args_, variables_.store(), tensors);
    const AfterScope after(built->graph);
    built->ops =
        CallNamed(args_.name, args_.log, [&] { return fn(built->graph, built->placeholders); });
    check(built->ops);
    variables_.Add(built->graph);
    return *built_.emplace(std::move(names), std::move(built)).first->second;
  }
  // Returns a graph for tensors of any names; nullptr before the first For.
  [[nodiscard]] Built* Any() { return built_.empty() ? nullptr : built_.begin()->second.get(); }

  // Resets the variables to their first values; graphs and programs stay.
  void Reset() { variables_.Reset(); }
  // Drops graphs and variables, because another fn follows.
  void Forget() {
    built_.clear();
    variables_.Clear();
  }

 private:
  const HostFnArgs args_;
  HostVariables variables_;
  std::map<std::vector<std::string>, std::unique_ptr<Built>> built_;  // by the tensors' names
};

}  // namespace tpuest
