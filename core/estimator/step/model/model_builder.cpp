#include "core/estimator/step/model/model_builder.h"

#include <algorithm>
#include <cctype>

#include "core/estimator/step/model/int64_check.h"
#include "core/estimator/step/model/scaffold.h"
#include "core/estimator/step/programs/host_call_runner.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

void CheckTraining(const Graph& graph, const Params& params, const TPUEstimatorSpec& spec) {
  if (spec.train_op == nullptr) throw Error(Code::kUsage, "Missing train_op.");
  const auto& nodes = graph.nodes();
  const bool sums = std::any_of(nodes.begin(), nodes.end(),
                                [](const auto& node) { return node->op().crosses_replicas(); });
  if (params.replicas > 1 && !sums) {
    throw Error(Code::kUsage, "CrossShardOptimizer must be used for model training on TPUs.");
  }
}

class Builder {
 public:
  explicit Builder(const OpRegistry& registry, const BuildArgs& args) : args_(args) {
    model_.graph = std::make_unique<Graph>(registry);
  }

  BuiltModel Run(const ModelFn& model_fn) {
    nn::GetOrCreateGlobalStep(*model_.graph);
    const ModelInputs inputs = AddInputs();
    model_.spec = model_fn(*model_.graph, inputs, args_.mode, args_.params);
    CheckSpec(*model_.graph, args_.mode, args_.params, model_.spec);
    if (args_.with_scaffold) model_.scaffold = CallScaffoldFn(*model_.graph, model_.spec);
    if (args_.params.use_tpu) CheckTypes();
    if (args_.params.use_tpu && model_.spec.host_call && args_.mode != Mode::kPredict) {
      CheckOutfedTensors(model_.spec.host_call->tensors);
    }
    if (args_.with_example_weight) model_.uses_example_weight = IsRead(inputs.example_weight);
    return std::move(model_);
  }

 private:
  ModelInputs AddInputs() {
    const NameScope scope(*model_.graph, "input");
    ModelInputs inputs;
    for (const TensorSpec& feature : args_.stream.features) {
      inputs.features[feature.name] = Input(feature);
    }
    for (const std::string& list : args_.stream.lists) {
      inputs.present[list] = Input({list + "/present", DType::kBool, Shape({kUnknownDim})});
    }
    model_.has_labels = args_.stream.labels.valid() && args_.mode != Mode::kPredict;
    if (model_.has_labels) {
      inputs.labels =
          args_.stream.labels.Map([this](const TensorSpec& label) { return Input(label); });
    }
    model_.has_example_weight = args_.with_example_weight;
    if (args_.with_example_weight) {
      inputs.example_weight = Input({"example_weight", DType::kFloat, Shape()});
    }
    return inputs;
  }

  Value Input(const TensorSpec& spec) {
    if (!spec.shape.known_rank()) {
      throw Error(Code::kUsage,
                  fmt::format("The features to the model returned by input_fn must have static "
                              "shape. Tensor: '{}' {}",
                              spec.name, spec.shape.Text()),
                  "set the feature's shape in the input_fn");
    }
    std::vector<int64_t> dims = spec.shape.dims();
    dims.insert(dims.begin(), args_.rows.value_or(kUnknownDim));
    model_.inputs.push_back(
        model_.graph->Placeholder(spec.dtype, Shape(std::move(dims)), NodeNameOf(spec.name)));
    return model_.inputs.back();
  }

  void CheckTypes() const {
    std::vector<DeviceInput> inputs;
    for (const TensorSpec& feature : args_.stream.features) {
      inputs.push_back({feature, model_.inputs[inputs.size()]});
    }
    if (model_.has_labels) {
      size_t next = inputs.size() + args_.stream.lists.size();
      for (const auto& [head, label] : args_.stream.labels) {
        inputs.push_back({label, model_.inputs[next++], true});
      }
    }
    RefuseInt64OnDevice(*model_.graph, model_.spec, inputs);
  }

  [[nodiscard]] bool IsRead(Value value) const {
    const auto& nodes = model_.graph->nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
      return std::find(node->inputs().begin(), node->inputs().end(), value) != node->inputs().end();
    });
  }

  const BuildArgs& args_;
  BuiltModel model_;
};

bool SameTensorSpec(const TensorSpec& a, const TensorSpec& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
}

}  // namespace

void CheckSpec(Graph& graph, Mode mode, const Params& params, TPUEstimatorSpec& spec) {
  if (mode == Mode::kPredict) {
    if (spec.predictions.empty()) throw Error(Code::kUsage, "Missing predictions.");
    return;
  }
  if (!spec.loss.valid()) throw Error(Code::kUsage, "Missing loss.");
  if (spec.loss.shape() == Shape{1}) {
    const Value shape = graph.Constant(Tensor(DType::kInt32, {0}), "loss/scalar_shape");
    spec.loss = graph.Add("Reshape", {spec.loss, shape}, {}, "loss/scalar");
  }
  if (spec.loss.shape() != Shape()) {
    throw Error(Code::kUsage, fmt::format("Loss must be scalar, given: '{}' {}", spec.loss.name(),
                                          spec.loss.shape().Text()))
        .At(spec.loss.node->origin());
  }
  if (mode == Mode::kTrain) CheckTraining(graph, params, spec);
}

BuiltModel BuildModel(const ModelFn& model_fn, const OpRegistry& registry, const BuildArgs& args) {
  return Builder(registry, args).Run(model_fn);
}

std::map<std::string, std::string> RestoreNames(const BuiltModel& model) {
  return model.scaffold ? model.scaffold->restore_names : std::map<std::string, std::string>();
}

std::string NodeNameOf(std::string_view feature) {
  std::string name(feature);
  for (char& c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                      c == '-' || c == '/';
    if (!fits) c = '_';
  }
  return name.empty() || name.front() == '_' || name.front() == '-' ? "x" + name : name;
}

std::vector<Tensor> InputsOf(const BuiltModel& model, const Batch& batch) {
  std::vector<Tensor> inputs = batch.features;
  inputs.insert(inputs.end(), batch.present.begin(), batch.present.end());
  if (model.has_labels) {
    for (const auto& [head, label] : batch.labels) inputs.push_back(label);
  }
  if (model.has_example_weight) inputs.push_back(batch.example_weight);
  Check(inputs.size() == model.inputs.size(), "found {} inputs for {} placeholders", inputs.size(),
        model.inputs.size());
  return inputs;
}

int64_t RowsOf(const Batch& batch) {
  Check(!batch.features.empty(), "a batch without features");
  if (batch.whole_rows > 0) return batch.whole_rows;
  return batch.features.front().shape().dim(0);
}

bool SameShapes(const Batch& a, const Batch& b) {
  const auto same = [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); };
  const auto same_label = [&](const auto& x, const auto& y) { return same(x.second, y.second); };
  return std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end(),
                    same) &&
         std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(), same_label);
}

bool SameSpec(const StreamSpec& a, const StreamSpec& b) {
  const auto same_label = [](const auto& x, const auto& y) {
    return x.first == y.first && SameTensorSpec(x.second, y.second);
  };
  return std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end(),
                    SameTensorSpec) &&
         a.lists == b.lists &&
         std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(), same_label);
}

}  // namespace tpuest
