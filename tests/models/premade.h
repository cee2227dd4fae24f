#pragma once
// Runs a premade estimator on one batch, with weights as a case gives them.

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/global_step.h"
#include "models/zoo.h"
#include "tests/core/nn/session.h"

namespace tpuest::models {

inline doctest::Approx About(double value) { return doctest::Approx(value).epsilon(1e-4); }

using Table = std::map<std::string, Tensor>;

inline Tensor Column(const std::vector<float>& values) {
  return Tensor::Of<float>({static_cast<int64_t>(values.size()), 1}, values);
}
inline Tensor Ids(const std::vector<int32_t>& values) {
  return Tensor::Of<int32_t>({static_cast<int64_t>(values.size()), 1}, values);
}
inline Tensor Words(const std::vector<std::string>& values) {
  return Tensor::Strings({static_cast<int64_t>(values.size()), 1}, values);
}

class Premade {
 public:
  Premade(const AnyModel& model, const nn::FeatureColumns& columns, const Table& features,
          const Tensor& labels, Mode mode,
          const std::map<std::string, std::vector<float>>& weights = {}) {
    Graph& graph = session_.graph();
    nn::GetOrCreateGlobalStep(graph);
    ModelInputs inputs;
    for (const auto& [name, value] : features) inputs.features[name] = graph.Constant(value, name);
    if (mode != Mode::kPredict) inputs.labels = graph.Constant(labels, "label");
    spec_ = MakeModelFn(model, {.feature_columns = columns})(graph, inputs, mode, {});
    if (spec_.eval_metrics) {
      metrics_ = spec_.eval_metrics->fn(graph, spec_.eval_metrics->tensors);
    }
    session_.Initialize();
    for (const auto& [name, values] : weights) Set(name, values);
  }
  Premade(const Premade&) = delete;
  Premade& operator=(const Premade&) = delete;

  // Gives a variable a value in the place of its initial one.
  Premade& Set(const std::string& name, const std::vector<float>& values) {
    const Variable* const variable = session_.graph().FindVariable(name);
    Check(variable != nullptr, "{}", name);
    session_.variables().Set(name, Tensor::Of<float>(variable->shape, values));
    return *this;
  }

  [[nodiscard]] float Loss() { return session_.Float(spec_.loss); }
  [[nodiscard]] std::vector<float> Prediction(const std::string& key) {
    return session_.Floats(spec_.predictions.at(key));
  }
  [[nodiscard]] std::vector<std::string> Strings(const std::string& key) {
    const Tensor value = session_.Get(spec_.predictions.at(key));
    return {value.strings().begin(), value.strings().end()};
  }
  // The value of every metric after this batch.
  [[nodiscard]] std::map<std::string, float> Metrics() {
    std::map<std::string, float> values;
    for (const auto& [name, metric] : metrics_) session_.Step(metric.update);
    for (const auto& [name, metric] : metrics_) values[name] = session_.Float(metric.value);
    return values;
  }
  void Train(int steps) { session_.Step(spec_.train_op, steps); }
  [[nodiscard]] float Summary(const std::string& tag) {
    return session_.Float(spec_.summaries.at(tag));
  }
  [[nodiscard]] std::vector<float> Weights(const std::string& name) {
    return session_.Floats(name);
  }
  [[nodiscard]] std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& variable : session_.graph().variables()) {
      if (!variable->local) names.push_back(variable->name);
    }
    return names;
  }

 private:
  nn::Session session_;
  TPUEstimatorSpec spec_;
  std::map<std::string, MetricOps> metrics_;
};

}  // namespace tpuest::models
