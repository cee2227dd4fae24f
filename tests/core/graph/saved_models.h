#pragma once
// Reads and runs the SavedModels that TensorFlow wrote (tests/testdata/saved_models).

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/graph/bound_op.h"
#include "core/graph/read/saved_model.h"
#include "core/ops/all_ops.h"
#include "tests/core/io/testdata.h"

namespace tpuest {

inline std::string SavedModelData(const std::string& name) {
  return TestData("saved_models/" + name);
}

inline Tensor TensorFromJson(const nlohmann::json& json) {
  const Shape shape(json.at("shape").get<std::vector<int64_t>>());
  if (json.at("dtype") != "string") {
    const Tensor values = Tensor::Of<double>(shape, json.at("values").get<std::vector<double>>());
    return values.Cast(*DTypeFromName(json.at("dtype").get<std::string>()));
  }
  std::vector<std::string> strings;
  for (const std::string& hex : json.at("values").get<std::vector<std::string>>()) {
    strings.push_back(FromHex(hex));
  }
  return Tensor::Strings(shape, strings);
}

// A graph with placeholders for some inputs, an imported part, and its variables.
class ImportedModel {
 public:
  ImportedModel() : registry_(ops::AllOps()), graph_(registry_), backend_(MakeCpuBackend()) {}

  Graph& graph() { return graph_; }

  // A placeholder for batches of any size, to which the tensor is fed.
  Value Input(const std::string& name, const Tensor& tensor) {
    Shape shape = tensor.shape();
    shape.set_dim(0, kUnknownDim);
    const Value value = graph_.Placeholder(tensor.dtype(), shape, name);
    feeds_.push_back({value, tensor});
    return value;
  }

  std::vector<Tensor> Run(const std::vector<Value>& fetches) {
    Initialize();
    ProgramSpec spec{.graph = &graph_, .fetches = fetches};
    StepFeeds tensors;
    const bool is_sized = IsSizedByValues(fetches);
    for (const auto& [placeholder, tensor] : feeds_) {
      spec.feeds.push_back({placeholder, tensor.shape()});
      if (is_sized) spec.feeds.back().value = tensor;
      tensors.push_back({tensor});
    }
    return RunProgram(spec, tensors);
  }

 private:
  void Initialize() {
    for (const auto& variable : graph_.variables()) {
      ProgramSpec spec{.graph = &graph_, .fetches = {variable->initial_value}};
      variables_.Set(variable->name, RunProgram(spec, {})[0]);
    }
  }

  std::vector<Tensor> RunProgram(const ProgramSpec& spec, const StepFeeds& tensors) {
    const auto results = backend_->Compile(spec, {}, variables_)->Run({&tensors, 1});
    std::vector<Tensor> values;
    for (const auto& replicas : results.at(0).fetches) values.push_back(replicas.at(0));
    return values;
  }

  OpRegistry registry_;
  Graph graph_;
  std::unique_ptr<Backend> backend_;
  VariableStore variables_;
  std::vector<std::pair<Value, Tensor>> feeds_;
};

}  // namespace tpuest
