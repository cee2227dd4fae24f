#pragma once
// A graph that runs on the host, beside the steps. The graph of a metric_fn or a host_call runs on
// tensors from the device; that of hooks or weight summaries only on variables.
//
//   fetches, targets, feeds and their shapes ──▶ Program, compiled on first use

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/backend/backend.h"

namespace tpuest {

struct HostWork {
  std::vector<Value> fetches = {};
  std::vector<Node*> targets = {};                   // run for their effect
  std::vector<std::pair<Value, Tensor>> feeds = {};  // placeholders with their values
  bool cut = false;  // axis 0 of the feeds, if they have one, is the global batch
};

class HostGraph {
 public:
  // The arguments outlive it; the graph may still grow.
  HostGraph(Backend& backend, const Graph& graph, VariableStore& variables, int threads = 1)
      : backend_(backend), graph_(graph), variables_(variables), threads_(threads) {}

  // Runs the targets and returns the values of the fetches. Keeps the programs used last. Throws
  // Error kUsage, with the node's place, for a node that the backend refuses.
  std::vector<Tensor> Run(const HostWork& work);

 private:
  // A program is compiled per key.
  struct Key {
    std::vector<Value> fetches;
    std::vector<Node*> targets;
    std::vector<Value> placeholders;
    std::vector<Shape> shapes;  // of the placeholders
    bool cut = false;
    bool operator==(const Key&) const = default;
  };
  struct Compiled {
    Key key;
    std::unique_ptr<Program> program;
    bool is_of_values = false;  // compiled for the values of its feeds
  };
  // If sizes follow from the feeds' values, the program is valid for these values only.
  [[nodiscard]] Program& ProgramFor(Key key, const StepFeeds& feeds);

  Backend& backend_;
  const Graph& graph_;
  VariableStore& variables_;
  const int threads_;
  std::deque<Compiled> compiled_;  // most recently used first
};

}  // namespace tpuest
