#pragma once
// A graph that runs on the host, beside the steps: a metric_fn's or a host_call's, on tensors that
// came out of the device; that of hooks, or of summaries of weights, on variables alone.
//
//   what is fetched and run, what is fed in which shapes ──▶ Program, compiled on first use

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
  // All of them outlive it; the graph may go on growing.
  HostGraph(Backend& backend, const Graph& graph, VariableStore& variables, int threads = 1)
      : backend_(backend), graph_(graph), variables_(variables), threads_(threads) {}

  // The values of the fetches, once the targets have run. Programs used last are kept.
  std::vector<Tensor> Run(const HostWork& work);

 private:
  // The things that a program is compiled for.
  struct Key {
    std::vector<Value> fetches;
    std::vector<Node*> targets;
    std::vector<Value> placeholders;
    std::vector<Shape> shapes;  // of these
    bool cut = false;
    bool operator==(const Key&) const = default;
  };
  struct Compiled {
    Key key;
    std::unique_ptr<Program> program;
  };
  [[nodiscard]] Program& ProgramFor(Key key);

  Backend& backend_;
  const Graph& graph_;
  VariableStore& variables_;
  const int threads_;
  std::deque<Compiled> compiled_;  // the last used one first
};

}  // namespace tpuest
