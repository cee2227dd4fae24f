#pragma once
// Runs a small graph, that is, its variables and the values of some nodes, on the CPU engine.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/graph/graph.h"
#include "core/ops/all_ops.h"

namespace tpuest::nn {

// A value that each run feeds, one tensor per replica.
struct Feed {
  Value placeholder;
  std::vector<Tensor> replicas;
};

class Session {
 public:
  explicit Session(int replicas = 1, uint64_t seed = 1, int threads = 1)
      : registry_(ops::AllOps()),
        graph_(std::make_unique<Graph>(registry_)),
        backend_(MakeCpuBackend()),
        options_{.replicas = replicas, .threads = threads, .seed = seed} {}

  Graph& graph() { return *graph_; }
  VariableStore& variables() { return variables_; }

  Value Const(const Shape& shape, const std::vector<float>& values) {
    return graph_->Constant(Tensor::Of<float>(shape, values));
  }
  Value Ints(const Shape& shape, const std::vector<int32_t>& values) {
    return graph_->Constant(Tensor::Of<int32_t>(shape, values));
  }
  Variable* AddVariable(const std::string& name, const Shape& shape,
                        const std::vector<float>& values) {
    return graph_->AddVariable(name, DType::kFloat, shape, Const(shape, values));
  }

  // Gives every variable without a value its initial value.
  void Initialize() {
    std::vector<Value> fetches;
    std::vector<std::string> names;
    for (const auto& variable : graph_->variables()) {
      if (variables_.Has(variable->name)) continue;
      fetches.push_back(variable->initial_value);
      names.push_back(variable->name);
    }
    const std::vector<std::vector<Tensor>> values = RunAll(fetches, {}, {});
    for (size_t i = 0; i < names.size(); ++i) variables_.Set(names[i], values[i][0]);
  }

  // Runs one step; returns fetches[i][replica].
  std::vector<std::vector<Tensor>> RunAll(const std::vector<Value>& fetches,
                                          const std::vector<Node*>& targets,
                                          const std::vector<Feed>& feeds) {
    ProgramSpec spec{.graph = graph_.get(), .fetches = fetches, .targets = targets};
    StepFeeds step;
    for (const Feed& feed : feeds) {
      spec.feeds.push_back({feed.placeholder, feed.replicas[0].shape()});
      step.push_back(feed.replicas);
    }
    const std::unique_ptr<Program> program = backend_->Compile(spec, options_, variables_);
    return program->Run(std::vector<StepFeeds>{step})[0].fetches;
  }

  Tensor Get(Value fetch, const std::vector<Feed>& feeds = {}) {
    return RunAll({fetch}, {}, feeds)[0][0].Clone();
  }
  std::vector<float> Floats(Value fetch, const std::vector<Feed>& feeds = {}) {
    return Floats(Get(fetch, feeds));
  }
  float Float(Value fetch, const std::vector<Feed>& feeds = {}) { return Floats(fetch, feeds)[0]; }
  std::vector<float> Floats(const std::string& variable) {
    return Floats(variables_.Get(variable));
  }
  void Step(Node* target, int times = 1, const std::vector<Feed>& feeds = {}) {
    for (int i = 0; i < times; ++i) RunAll({}, {target}, feeds);
  }

  static std::vector<float> Floats(const Tensor& tensor) {
    std::vector<float> values;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      values.push_back(static_cast<float>(tensor.AsDouble(i)));
    }
    return values;
  }

 private:
  OpRegistry registry_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Backend> backend_;
  CompileOptions options_;
  VariableStore variables_;
};

}  // namespace tpuest::nn
