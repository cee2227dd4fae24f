// Configurations of Keras as jobs.

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "models/keras/compile_config.h"
#include "models/keras/config/job.h"
#include "tests/models/keras/testdata.h"

namespace tpuest {
namespace {

KerasJob JobOfText(const std::string& text) {
  return KerasJobOf(KerasFile::Of("model.json", text));
}

// A Functional model of Keras 2 with these layers behind the input `x` [null, 4, 4, 3].
std::string Functional(const std::string& layers, const std::string& output,
                       const std::string& version = "2.15.0") {
  return R"({"class_name": "Functional", "keras_version": ")" + version +
         R"(", "backend": "tensorflow", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
       "config": {"batch_input_shape": [null, 4, 4, 3], "dtype": "float32", "name": "x"}},)" +
         layers + R"(], "input_layers": [["x", 0, 0]], "output_layers": [[")" + output +
         R"(", 0, 0]]}})";
}

std::string Refusals(const std::string& text) {
  try {
    std::ignore = JobOfText(text);
  } catch (const Error& error) {
    std::string all = error.code() == Code::kData ? "" : "another code";
    for (const Fault& fault : error.faults()) all += fault.message + "\n";
    return all;
  }
  return "";
}

}  // namespace

TEST_CASE("files of Keras 2 and 3 become the same layers") {
  const KerasJob two = KerasJobOf(KerasFile::Of("a.h5", KerasTestFile("k215_trainable.h5")));
  for (const char* const name : {"k215_nested.keras", "k39_nested.keras", "k215_config.json"}) {
    CAPTURE(name);
    const KerasJob other = KerasJobOf(KerasFile::Of(name, KerasTestFile(name)));
    CHECK(other.model.at("inputs") == two.model.at("inputs"));
    CHECK(other.model.at("layers").size() == 3);
    CHECK(other.model.at("layers")[0].at("training") == false);
    CHECK(other.model.at("layers")[0].at("inputs") == KerasJson({{"image", "image"}}));
  }
  CHECK(KerasYaml(two.model, 2) == R"(  inputs: [image]
  layers:
    - type: functional
      name: base
      inputs: {image: image}
      training: false
      layers:
        - {type: Conv2D, name: Conv1, filters: 2, kernel_size: 3, use_bias: false, inputs: image}
        - {type: BatchNormalization, name: Conv1/bn, axis: 3, inputs: Conv1}
        - {type: DepthwiseConv2D, name: dw, kernel_size: 2, use_bias: false, inputs: Conv1/bn}
        - {type: BatchNormalization, name: dw_BN, axis: 3, scale: false, inputs: dw}
    - {type: Flatten, name: flat, inputs: base}
    - {type: Dense, name: logit, units: 1, inputs: flat}
)");
  CHECK(two.outputs == std::vector<std::string>{"logit"});
  CHECK(two.inputs.front().shape == std::vector<int64_t>{4, 4, 1});
}

TEST_CASE("an argument of a layer is omitted if it is the job's default, whatever Keras calls it") {
  const KerasJob job = JobOfText(Functional(R"(
      {"class_name": "Cropping2D", "name": "crop", "config": {"name": "crop", "cropping": [[0, 0], [1, 0]]},
       "inbound_nodes": [[["x", 0, 0, {}]]]},
      {"class_name": "Convolution2D", "name": "conv", "config": {"name": "conv", "filters": 2,
         "kernel_size": [2, 2], "strides": [1, 1], "padding": "VALID", "dilation_rate": [1, 1], "groups": 1,
         "activation": "hard_sigmoid", "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
         "bias_initializer": {"class_name": "Constant", "config": {"value": 0.5}},
         "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.1}},
         "bias_constraint": {"class_name": "NonNeg", "config": {}}, "trainable": false},
       "inbound_nodes": [[["crop", 0, 0, {}]]]},
      {"class_name": "LeakyReLU", "name": "leaky", "config": {"name": "leaky", "negative_slope": 0.3},
       "inbound_nodes": [[["conv", 0, 0, {}]]]},
      {"class_name": "LeakyReLU", "name": "less", "config": {"name": "less", "negative_slope": 0.2},
       "inbound_nodes": [[["leaky", 0, 0, {}]]]},
      {"class_name": "Normalization", "name": "norm", "config": {"name": "norm", "axis": null, "mean": 1.0,
         "variance": 4.0, "invert": false}, "inbound_nodes": [[["less", 0, 0, {}]]]})",
                                            "norm"));
  CHECK(KerasYaml(job.model, 0) == R"(inputs: [x]
layers:
  - {type: Cropping2D, name: crop, cropping: [[0, 0], [1, 0]], inputs: x}
  - {type: Conv2D, name: conv, filters: 2, kernel_size: 2, bias_initializer: {type: constant, value: 0.5}, kernel_regularizer: {type: l2, l2: 0.1}, bias_constraint: {type: non_neg}, trainable: false, activation: hard_sigmoid, inputs: crop}
  - {type: LeakyReLU, name: leaky, inputs: conv}
  - {type: LeakyReLU, name: less, alpha: 0.2, inputs: leaky}
  - {type: Normalization, name: norm, axis: null, mean: 1, variance: 4, inputs: less}
)");
}

TEST_CASE("a layer that only jobs have is not a Keras layer") {
  for (const char* const name : {"Reverse", "DotInteraction", "Transpose", "conv2d"}) {
    CAPTURE(name);
    const std::string layer = fmt::format(R"({{"class_name": "{}", "name": "it",
        "config": {{"name": "it"}}, "inbound_nodes": [[["x", 0, 0, {{}}]]]}})",
                                          name);
    CHECK(Refusals(Functional(layer, "it")).find(fmt::format("Unknown layer: '{}'", name)) !=
          std::string::npos);
  }
}

TEST_CASE("compile becomes head and optimizer") {
  const KerasJob job = KerasJobOf(KerasFile::Of("a.h5", KerasTestFile("k215_trainable.h5")));
  CHECK(KerasYaml(job.head, 0) == R"(type: compile
outputs: [{name: logit, loss: mse, metrics: [{fn: mean_absolute_error, name: mae}]}]
)");
  CHECK(KerasYaml(job.optimizer, 0) == R"(type: Adam
learning_rate: 0.001
beta_1: 0.9
beta_2: 0.999
epsilon: 1e-07
)");
  const KerasJob none = KerasJobOf(KerasFile::Of("a.h5", KerasTestFile("k212_denses.h5")));
  CHECK(none.head.is_null());
  CHECK(none.optimizer.is_null());
}

TEST_CASE("metrics are renamed by a map that contains each of them") {
  const KerasFile file = KerasFile::Of("a.h5", KerasTestFile("k215_trainable.h5"));
  CHECK(KerasJobOf(file, {{"mae", "far"}}).head.at("outputs")[0].at("metrics")[0].at("name") ==
        "far");
  CHECK_THROWS_WITH(
      std::ignore = KerasJobOf(file, {{"mse", "far"}}),
      "Invalid `metric_names_map`. The following keras model metric names:\"['mae']\" "
      "do not exist in the `metric_names_map` dictionary");
  CHECK_THROWS_WITH(std::ignore = KerasJobOf(file, {{"mae", "far"}, {"mse", "x"}}),
                    "Invalid `metric_names_map`. There are unexpected keys in the "
                    "`metric_names_map` dictionary. Expected keys: ['mae'], Received: ['mse']");
}

TEST_CASE("operations on tensors are layers") {
  const KerasJob job = JobOfText(Functional(R"(
      {"class_name": "SlicingOpLambda", "name": "bgr", "config": {"name": "bgr", "function": "__operators__.getitem"},
       "inbound_nodes": [["x", 0, 0, {"slice_spec": {"class_name": "__tuple__", "items": [
          {"class_name": "__ellipsis__"}, {"start": null, "stop": null, "step": -1}]}}]]},
      {"class_name": "TFOpLambda", "name": "mean", "config": {"name": "mean", "function": "nn.bias_add"},
       "inbound_nodes": [["bgr", 0, 0, {"bias": [-103.9390029907226562, -116.7789993286132812, -123.6800003051757812], "name": null}]]},
      {"class_name": "TFOpLambda", "name": "half", "config": {"name": "half", "function": "math.truediv"},
       "inbound_nodes": [["mean", 0, 0, {"y": 2.0, "name": null}]]},
      {"class_name": "TFOpLambda", "name": "minus", "config": {"name": "minus", "function": "math.subtract"},
       "inbound_nodes": [["_CONSTANT_VALUE", -1, 1.0, {"y": ["half", 0, 0], "name": null}]]},
      {"class_name": "TFOpLambda", "name": "sum", "config": {"name": "sum", "function": "__operators__.add"},
       "inbound_nodes": [["minus", 0, 0, {"y": ["half", 0, 0], "name": null}]]})",
                                            "sum"));
  CHECK(KerasYaml(job.model, 0) == R"(inputs: [x]
layers:
  - {type: Reverse, name: bgr, inputs: x}
  - {type: Rescaling, scale: 1, offset: [-103.939, -116.779, -123.68], name: mean, inputs: bgr}
  - {type: Rescaling, scale: 0.5, name: half, inputs: mean}
  - {type: Rescaling, scale: -1, offset: 1, name: minus, inputs: half}
  - {type: Add, name: sum, inputs: [minus, half]}
)");
}

TEST_CASE(
    "an operation of Keras 3 in an .h5 file has only its name, a layer of that class has more") {
  const std::string x = R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4],
      "dtype": "float32", "keras_history": ["x", 0, 0]}})";
  const std::string layers = fmt::format(R"(
      {{"class_name": "Multiply", "name": "times", "config": {{"name": "times"}},
       "inbound_nodes": [{{"args": [{0}, 1.5], "kwargs": {{}}}}]}},
      {{"class_name": "Add", "name": "both", "config": {{"name": "both", "trainable": true}},
       "inbound_nodes": [{{"args": [[{0}, {0}]], "kwargs": {{}}}}]}})",
                                         x);
  CHECK(KerasYaml(JobOfText(Functional(layers, "both", "3.9.0")).model, 0) == R"(inputs: [x]
layers:
  - {type: Rescaling, scale: 1.5, name: times, inputs: x}
  - {type: Add, name: both, inputs: [x, x]}
)");
}

TEST_CASE("the scale of InceptionResNetV2's residuals is two layers") {
  const KerasJob job = JobOfText(Functional(
      R"({"class_name": "Custom>CustomScaleLayer", "name": "s", "config": {"name": "s", "scale": 0.17},
       "inbound_nodes": [[["x", 0, 0, {}], ["x", 0, 0, {}]]]})",
      "s"));
  CHECK(KerasYaml(job.model, 0) == R"(inputs: [x]
layers:
  - {type: Rescaling, scale: 0.17, name: s/scaled, inputs: x}
  - {type: Add, name: s, inputs: [x, s/scaled]}
)");
}

TEST_CASE("an activation that a layer does not accept becomes layers after it") {
  const std::string dense =
      R"({"class_name": "Dense", "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]],
      "config": {"name": "d", "units": 2, "activation": "ACT"}})";
  const auto with = [&](const std::string& activation, const std::string& version) {
    std::string text = dense;
    text.replace(text.find("ACT"), 3, activation);
    return KerasYaml(JobOfText(Functional(text, "d", version)).model, 0);
  };
  CHECK(with("hard_sigmoid", "2.15.0").find("activation: hard_sigmoid") != std::string::npos);
  const std::string three = with("hard_silu", "3.9.0");
  CHECK(three.find("- {type: Dense, name: d, units: 2, inputs: x}\n") != std::string::npos);
  CHECK(
      three.find("{type: ReLU, max_value: 6, name: d/hard_silu/relu6, inputs: d/hard_silu/add}") !=
      std::string::npos);
  CHECK(three.find("{type: Multiply, name: d/hard_silu, inputs: [d, d/hard_silu/gate]}") !=
        std::string::npos);
}

TEST_CASE("limits on weights, penalties on results, seeds and axes are kept") {
  const KerasJob job = JobOfText(Functional(R"(
      {"class_name": "Dense", "name": "d", "inbound_nodes": [[["x", 0, 0, {}]]],
       "config": {"name": "d", "units": 3, "activation": "hard_silu",
         "activity_regularizer": {"class_name": "L2", "config": {"l2": 0.009999999776482582}},
         "kernel_constraint": {"module": "keras.constraints", "class_name": "MaxNorm",
                               "config": {"max_value": 2, "axis": [0]}, "registered_name": null},
         "bias_constraint": {"class_name": "NonNeg", "config": {}}}},
      {"class_name": "BatchNormalization", "name": "b",
       "config": {"name": "b", "axis": [1], "gamma_constraint": "unit_norm", "synchronized": true},
       "inbound_nodes": [[["d", 0, 0, {}]]]},
      {"class_name": "Dropout", "name": "p", "config": {"name": "p", "rate": 0.2, "seed": 3},
       "inbound_nodes": [[["b", 0, 0, {}]]]},
      {"class_name": "Softmax", "name": "s", "config": {"name": "s", "axis": [1, 2]},
       "inbound_nodes": [[["p", 0, 0, {}]]]})",
                                            "s", "3.9.0"));
  const std::string text = KerasYaml(job.model, 0);
  const char* const lines[] = {
      "{type: Dense, name: d, units: 3, kernel_constraint: {type: max_norm, max_value: 2, axis: "
      "[0]}, bias_constraint: {type: non_neg}, inputs: x}",
      "{type: ActivityRegularization, l2: 0.01, name: d/activity_regularizer, inputs: "
      "d/hard_silu}",
      "gamma_constraint: {type: unit_norm}",
      "{type: Dropout, name: p, rate: 0.2, seed: 3, inputs: b}",
      "{type: Softmax, name: s, axis: [1, 2], inputs: p}"};
  CAPTURE(text);
  for (const char* const line : lines) CHECK(text.find(line) != std::string::npos);
  const auto refused = [](const std::string& config) {
    return Refusals(Functional(R"({"class_name": "Dense", "name": "d", "inbound_nodes":
      [[["x", 0, 0, {}]]], "config": {"name": "d", "units": 2, )" +
                                   config + "}}",
                               "d"));
  };
  CHECK(refused(R"("kernel_constraint": {"class_name": "my>Odd", "config": {}})") ==
        "model.json: layers[1] 'd' (Dense): the constraint 'Odd' is not supported\n");
  CHECK(refused(R"("depthwise_constraint": "non_neg")")
            .find("its 'depthwise_constraint' is not supported") != std::string::npos);
}

TEST_CASE("a shared layer is called again by the number of the call") {
  const KerasJob job = JobOfText(Functional(R"(
      {"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 3},
       "inbound_nodes": [[["x", 0, 0, {}]], [["d", 0, 0, {}]]]},
      {"class_name": "Add", "name": "a", "config": {"name": "a"},
       "inbound_nodes": [[["d", 0, 0, {}], ["d", 1, 0, {}]]]})",
                                            "a"));
  CHECK(KerasYaml(job.model, 0) == R"(inputs: [x]
layers:
  - {type: Dense, name: d, units: 3, inputs: x}
  - {layer: d, name: d_call_1, inputs: d}
  - {type: Add, name: a, inputs: [d, d_call_1]}
)");
}

TEST_CASE("parts that a job cannot express are all refused with layer, class and place") {
  const std::string all = Refusals(Functional(R"(
      {"class_name": "Lambda", "name": "l", "config": {"name": "l"}, "inbound_nodes": [[["x", 0, 0, {}]]]},
      {"class_name": "Conv2D", "name": "c", "config": {"name": "c", "filters": 1, "kernel_size": [1, 1],
       "data_format": "channels_first"}, "inbound_nodes": [[["l", 0, 0, {}]]]},
      {"class_name": "TFOpLambda", "name": "t", "config": {"name": "t", "function": "linalg.matmul"},
       "inbound_nodes": [["c", 0, 0, {"b": ["x", 0, 0]}]]})",
                                              "t"));
  CHECK(all ==
        "model.json: layers[1] 'l' (Lambda): a Lambda layer contains Python code\n"
        "model.json: layers[2] 'c' (Conv2D): data_format is channels_first\n"
        "model.json: layers[3] 't' (TFOpLambda): the operation 'linalg.matmul' is not supported "
        "with these arguments\n");
  CHECK(Refusals(Functional(R"({"class_name": "ReLU", "name": "r", "config": {"name": "r"},
      "inbound_nodes": [[["x", "0", 0, {}]]]})",
                            "r"))
            .find("cannot be read") != std::string::npos);
  CHECK(Refusals(R"({"class_name": "MyModel", "keras_version": "2.15.0", "config": {}})") ==
        "model.json: 'MyModel' has no layers: its model is written as a class\n");
  CHECK(Refusals(Functional(R"({"class_name": "ReLU", "name": "r", "config": {"name": "r"},
      "inbound_nodes": [[["gone", 0, 0, {}]]]})",
                            "r")) ==
        "model.json: graph has a loop or a missing layer: there is no 'gone'\n");
}

TEST_CASE("a layer that is called twice and cannot be in a job is refused once") {
  const auto twice = [](const std::string& layer) {
    return Functional(
        R"({"class_name": )" + layer +
            R"(, "name": "l", "inbound_nodes": [[["x", 0, 0, {}]], [["l", 0, 0, {}]]]},
      {"class_name": "ReLU", "name": "r", "config": {"name": "r"},
       "inbound_nodes": [[["l", 1, 0, {}]]]})",
        "r");
  };
  CHECK(Refusals(twice(R"("Lambda", "config": {"name": "l"})")) ==
        "model.json: layers[1] 'l' (Lambda): a Lambda layer contains Python code\n");
  // A nested model, whose calls count from 1.
  const std::string nested = Refusals(twice(R"("Sequential", "config": {"name": "l", "layers": [
      {"class_name": "Lambda", "name": "i", "config": {"name": "i"}}]})"));
  CHECK(nested ==
        "model.json: layers[1] 'l': layers[0] 'i' (Lambda): a Lambda layer contains Python code\n");
}

namespace {

// A model whose outputs are the dict {b: o0, a: o1}, or the layer `o0`, compiled so.
std::string Compiled(const std::string& compile, bool is_dict = false,
                     const std::string& version = "2.15.0") {
  const auto dense = [](const std::string& name) {
    return R"({"class_name": "Dense", "name": ")" + name +
           R"(", "inbound_nodes": [[["x", 0, 0, {}]]],
      "config": {"name": ")" +
           name + R"(", "units": 3}})";
  };
  return R"({"class_name": "Functional", "keras_version": ")" + version +
         R"(", "backend": "tensorflow", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
       "config": {"batch_input_shape": [null, 4], "dtype": "float32", "name": "x"}},)" +
         dense("o0") + "," + dense("o1") +
         R"(], "input_layers": [["x", 0, 0]], "output_layers": )" +
         (is_dict ? R"({"b": ["o0", 0, 0], "a": ["o1", 0, 0]})" : R"([["o0", 0, 0]])") +
         R"(}, "compile_config": )" + compile + "}";
}

KerasJob CompiledJob(const std::string& compile, bool is_dict = false,
                     const std::string& version = "2.15.0") {
  return JobOfText(Compiled(compile, is_dict, version));
}

std::string FaultsOf(const std::vector<Fault>& faults) {
  std::string all;
  for (const Fault& fault : faults) all += fault.message + "\n";
  return all;
}

std::string Metric(const std::string& name, const std::string& config) {
  return R"({"module": "keras.metrics", "class_name": ")" + name + R"(", "config": {"name": "m",
      "dtype": "float32", )" +
         config + R"(}, "registered_name": null})";
}

}  // namespace

TEST_CASE("metrics keep their thresholds, classes and weights") {
  const KerasJob job = CompiledJob(
      R"({"optimizer": "sgd", "loss": "mse", "loss_weights": null, "run_eagerly": null, "metrics": [)" +
      Metric("Precision", R"("thresholds": 0.3, "top_k": null, "class_id": 1)") + "," +
      Metric("Recall", R"("thresholds": [0.3, 0.5], "top_k": 2, "class_id": null)") + "," +
      Metric("AUC", R"("num_thresholds": 4, "curve": "PR", "summation_method": "interpolation",
             "multi_label": false, "num_labels": null, "label_weights": null,
             "from_logits": true, "thresholds": [0.3, 0.5])") +
      R"(], "weighted_metrics": ["mse"]})");
  CHECK(FaultsOf(job.head_faults).empty());
  CHECK(KerasYaml(job.head, 0) == R"(type: compile
outputs: [{name: o0, loss: mse, metrics: [{fn: Precision, name: m, thresholds: 0.3, class_id: 1}, {fn: Recall, name: m_1, thresholds: [0.3, 0.5], top_k: 2}, {fn: AUC, name: m_2, thresholds: [0.3, 0.5], from_logits: true, curve: PR}], weighted_metrics: [{fn: mse}]}]
)");
}

TEST_CASE("F scores, IoU metrics and metrics at a rate keep their arguments") {
  const KerasJob job = CompiledJob(
      R"({"loss": "mse", "metrics": [)" +
      Metric("F1Score", R"("average": null, "threshold": 0.5)") + "," +
      Metric("FBetaScore", R"("average": "macro", "beta": 2.0, "threshold": null)") + "," +
      Metric("OneHotIoU", R"("num_classes": 3, "target_class_ids": [0, 2], "ignore_class": 1,
             "sparse_y_pred": false, "axis": -1)") +
      "," + Metric("BinaryIoU", R"("threshold": 0.5, "target_class_ids":
             {"class_name": "__tuple__", "items": [0, 1]})") +
      "," +
      Metric("PrecisionAtRecall", R"("num_thresholds": 200, "class_id": null, "recall": 0.5)") +
      "," + Metric("MeanRelativeError", R"("normalizer": {"class_name": "__numpy__",
             "config": {"value": [1.0, 3.0], "dtype": "float32"}})") +
      "," + Metric("Accuracy", R"("trainable": null)") + "]}");
  CHECK(FaultsOf(job.head_faults).empty());
  CHECK(job.head.at("outputs").at(0).at("metrics") == KerasJson::parse(R"([
      {"fn": "F1Score", "name": "m", "threshold": 0.5},
      {"fn": "FBetaScore", "name": "m_1", "average": "macro", "beta": 2.0},
      {"fn": "OneHotIoU", "name": "m_2", "ignore_class": 1, "num_classes": 3,
       "target_class_ids": [0, 2], "sparse_y_pred": false},
      {"fn": "BinaryIoU", "name": "m_3", "target_class_ids": [0, 1]},
      {"fn": "PrecisionAtRecall", "name": "m_4", "recall": 0.5},
      {"fn": "MeanRelativeError", "name": "m_5", "normalizer": [1.0, 3.0]},
      {"fn": "Accuracy", "name": "m_6"}])"));
}

TEST_CASE("R2Score is read with Keras' defaults, and refused with other arguments") {
  const auto compiled = [](const std::string& aggregation, int regressors) {
    return CompiledJob(R"({"loss": "mse", "metrics": [)" +
                       Metric("R2Score", fmt::format(R"("class_aggregation": "{}",
                           "num_regressors": {})",
                                                     aggregation, regressors)) +
                       "]}");
  };
  const KerasJob job = compiled("uniform_average", 0);
  CHECK(FaultsOf(job.head_faults).empty());
  CHECK(KerasYaml(job.head, 0) == R"(type: compile
outputs: [{name: o0, loss: mse, metrics: [{fn: R2Score, name: m}]}]
)");
  CHECK(FaultsOf(compiled("variance_weighted_average", 0).head_faults) ==
        "model.json: compile: metrics (R2Score): class_aggregation is "
        "\"variance_weighted_average\", which is not supported\n");
  CHECK(FaultsOf(compiled("uniform_average", 2).head_faults) ==
        "model.json: compile: metrics (R2Score): num_regressors is 2, which is not supported\n");
}

TEST_CASE("a schedule keeps its warm-up") {
  const auto compiled = [](const std::string& config) {
    return CompiledJob(R"({"loss": "mse", "optimizer": {"class_name": "Custom>SGD", "config": {
        "name": "SGD", "weight_decay": null, "use_ema": false, "ema_momentum": 0.99, "jit_compile": false,
        "momentum": 0.0, "nesterov": false, "learning_rate": {"class_name": "CosineDecay",
        "config": {"initial_learning_rate": 0.0, "alpha": 0.0, "name": null, )" +
                       config + "}}}}}");
  };
  const KerasJob job = compiled(R"("decay_steps": 9, "warmup_target": 0.5, "warmup_steps": 5)");
  CHECK(FaultsOf(job.optimizer_faults).empty());
  CHECK(job.optimizer.at("learning_rate") == KerasJson({{"type", "cosine_decay"},
                                                        {"learning_rate", 0.0},
                                                        {"decay_steps", 9},
                                                        {"alpha", 0.0},
                                                        {"warmup_target", 0.5},
                                                        {"warmup_steps", 5}}));
  CHECK(FaultsOf(compiled(R"("decay_steps": 2.5)").optimizer_faults) ==
        "model.json: compile: optimizer (SGD): learning_rate (CosineDecay): decay_steps is 2.5, "
        "expected whole steps\n");
  CHECK(FaultsOf(compiled(R"("decay_steps": 2, "wave": "square")").optimizer_faults) ==
        "model.json: compile: optimizer (SGD): learning_rate (CosineDecay): 'wave' is not "
        "supported: \"square\"\n");
}

TEST_CASE("compile arguments that a head or an optimizer cannot express are refused by name") {
  const KerasJob job = CompiledJob(
      R"({"loss": {"class_name": "MeanSquaredError", "config": {"name": "l", "reduction": "none"}},
          "optimizer": {"class_name": "Adam", "config": {"name": "adam", "amsgrad": true}},
          "sample_weight_mode": "temporal", "metrics": [)" +
      Metric("AUC", R"("multi_label": true)") + "," + Metric("Precision", R"("top": 3)") + "," +
      Metric("TopKCategoricalAccuracy", R"("k": "few")") + "]}");
  CHECK(
      FaultsOf(job.head_faults) ==
      "model.json: compile: 'sample_weight_mode' is not supported: \"temporal\"\nmodel.json: "
      "compile: loss (MeanSquaredError): reduction is \"none\", expected sum_over_batch_size or "
      "sum\nmodel.json: compile: metrics (AUC): multi_label is true, which is not "
      "supported\nmodel.json: compile: metrics (Precision): 'top' is not supported: 3\nmodel.json: "
      "compile: metrics (TopKCategoricalAccuracy): k is \"few\", expected an integer\n");
  CHECK(FaultsOf(job.optimizer_faults) ==
        "model.json: compile: optimizer (Adam): amsgrad is true, which is not supported\n");
}

TEST_CASE("a dict of outputs keeps its names and losses") {
  const std::string compile = R"({"loss": {"a": "mse", "b": "mae"}, "loss_weights": {"a": 2.0},
      "metrics": {"a": ["mse"], "o0": ["mae"]}, "weighted_metrics": {"b": "mae"}})";
  const KerasJob job = CompiledJob(compile, /*is_dict=*/true, "3.9.0");
  CHECK(FaultsOf(job.head_faults).empty());
  CHECK(job.outputs == std::vector<std::string>{"a", "b"});
  CHECK(job.model.at("outputs") == KerasJson({{"a", "o1"}, {"b", "o0"}}));
  CHECK(KerasYaml(job.head, 0) == R"(type: compile
outputs: [{name: a, loss: mse, loss_weight: 2, metrics: [{fn: mse, name: a_mse}]}, {name: b, loss: mae, metrics: [{fn: mae, name: b_mae}], weighted_metrics: [{fn: mae, name: b_weighted_mae}]}]
)");
  CHECK(FaultsOf(CompiledJob(R"({"loss": {"a": "mse", "c": "mae"}})", true).head_faults) ==
        "model.json: compile: loss: the model has no output 'c'\n");
}

TEST_CASE("an exported compiled model is read back with the same options") {
  nn::KerasHead head;
  head.outputs.push_back(
      {.name = "o0",
       .loss = "huber",
       .arguments = {.delta = 2.0},
       .metrics =
           {{.fn = "Precision", .name = "p", .arguments = {.threshold = 0.3}},
            {.fn = "Recall", .name = "r", .thresholds = std::vector{0.25, 0.5}, .class_id = 1},
            {.fn = "AUC", .name = "a", .thresholds = std::vector{0.5}, .curve = "PR"}},
       .weighted_metrics = {{.fn = "mean_squared_error", .name = "mse"},
                            {.fn = "cosine_similarity", .name = "c"},
                            {.fn = "R2Score", .name = "r2"},
                            {.fn = "MAE", .name = "m"},
                            {.fn = "F1Score", .name = "f", .arguments = {.threshold = 0.3}},
                            {.fn = "IoU",
                             .name = "i",
                             .num_classes = 3,
                             .target_class_ids = std::vector<int64_t>{0, 2},
                             .sparse_y_pred = false},
                            {.fn = "MeanRelativeError", .name = "e", .normalizer = 2.0}}});
  const nn::KerasOptimizer optimizer =
      nn::SGD{.options = {.learning_rate = nn::CosineDecay{.learning_rate = 0.01,
                                                           .decay_steps = {9},
                                                           .warmup_target = 0.5,
                                                           .warmup_steps = {5}}}};
  std::string obstacle;
  const auto compile = CompileConfigOf(head, optimizer, {}, obstacle);
  REQUIRE(compile);
  const KerasJob job = CompiledJob(compile->dump());
  CHECK(FaultsOf(job.head_faults).empty());
  CHECK(FaultsOf(job.optimizer_faults).empty());
  CHECK(KerasYaml(job.head, 0) == R"(type: compile
outputs: [{name: o0, loss: huber, delta: 2, metrics: [{fn: Precision, name: p, thresholds: 0.3}, {fn: Recall, name: r, thresholds: [0.25, 0.5], class_id: 1}, {fn: AUC, name: a, thresholds: [0.5], curve: PR}], weighted_metrics: [{fn: mean_squared_error, name: mse}, {fn: cosine_similarity, name: c}, {fn: R2Score, name: r2}, {fn: mean_absolute_error, name: m}, {fn: F1Score, name: f, threshold: 0.3}, {fn: IoU, name: i, num_classes: 3, target_class_ids: [0, 2], sparse_y_pred: false}, {fn: MeanRelativeError, name: e, normalizer: 2}]}]
)");
  CHECK(job.optimizer.at("learning_rate").at("warmup_target") == 0.5);
  CHECK(job.optimizer.at("learning_rate").at("warmup_steps") == 5);
  head.outputs.front().reduction = "mean";
  CHECK_FALSE(CompileConfigOf(head, optimizer, {}, obstacle));
  CHECK(obstacle == "the reduction mean");
}

}  // namespace tpuest
