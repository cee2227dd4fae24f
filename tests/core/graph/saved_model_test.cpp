#include <algorithm>

#include "core/graph/write/graphdef.h"
#include "tests/core/graph/saved_models.h"

namespace tpuest {
namespace {

using nlohmann::json;

const json& Expected() {
  static const json all = json::parse(ReadFile(SavedModelData("expected.json")));
  return all;
}

void CheckNear(const std::string& what, const Tensor& found, const Tensor& expected) {
  INFO(what);
  REQUIRE(found.dtype() == expected.dtype());
  REQUIRE(found.shape() == expected.shape());
  if (found.dtype() == DType::kString) {
    CHECK(SameBits(found, expected));
    return;
  }
  for (int64_t i = 0; i < found.elements(); ++i) {
    CHECK(found.AsDouble(i) == doctest::Approx(expected.AsDouble(i)).epsilon(1e-6));
  }
}

// Runs a signature (or, for a bare graph, tensors by name) and compares with expected.json.
void CheckCase(const std::string& kind, const json& row) {
  const std::string signature = row.at("signature");
  INFO(kind, " ", signature);
  const std::string path = SavedModelData(kind);
  const bool bare = signature.empty();
  const SavedModel model = bare ? SavedModel::FromGraphDefFile(path) : SavedModel(path);
  const MetaGraphInfo& meta = model.Find(row.at("tags").get<std::vector<std::string>>());
  ImportedModel imported;
  std::map<std::string, Value> inputs;
  for (const auto& [name, tensor] : row.at("inputs").items()) {
    inputs[name] = imported.Input("fed", TensorFromJson(tensor));
  }
  std::map<std::string, Value> outputs;
  if (bare) {
    for (const auto& [name, tensor] : row.at("outputs").items()) {
      outputs[name] = model.ImportTensors(meta, inputs, {name}, imported.graph())[0];
    }
  } else {
    outputs = model.Import(meta, signature, inputs, imported.graph());
  }
  for (const auto& [name, tensor] : row.at("outputs").items()) {
    CheckNear(name, imported.Run({outputs.at(name)})[0], TensorFromJson(tensor));
  }
}

TEST_CASE("a SavedModel of TensorFlow gives TensorFlow's numbers") {
  for (const auto& [kind, rows] : Expected().items()) {
    for (const json& row : rows) {
      CheckCase(kind, row);
    }
  }
}

TEST_CASE("a SavedModel has tags and signatures") {
  const SavedModel model(SavedModelData("tpu_v2"));
  REQUIRE(model.meta_graphs().size() == 2);
  CHECK(model.meta_graphs()[1].tags == std::vector<std::string>{"serve", "tpu"});
  const MetaGraphInfo& meta = model.Find({"tpu", "serve"});
  CHECK(&meta == &model.meta_graphs()[1]);
  const SignatureInfo& signature = meta.signatures.at("serving_default");
  CHECK(signature.method_name == "tensorflow/serving/predict");
  CHECK(signature.inputs.at("x").name == "x_1:0");
  CHECK(signature.inputs.at("x").dtype == DType::kFloat);
  CHECK(signature.inputs.at("x").shape == Shape{kUnknownDim, 4});
  CHECK(signature.outputs.at("y").name == "predictions:0");
  CHECK_FALSE(signature.outputs.at("y").shape.known_rank());
}

TEST_CASE("only nodes that the outputs need are added, and variables keep their names") {
  const SavedModel model(SavedModelData("tpu_v1"));
  for (const auto& tags : {std::vector<std::string>{"serve"}, {"serve", "tpu"}}) {
    ImportedModel imported;
    Graph& graph = imported.graph();
    const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
    const MetaGraphInfo& meta = model.Find(tags);
    const auto outputs = model.Import(meta, "serving_default", {{"x", x}}, graph);
    CHECK(outputs.at("y").shape() == Shape{kUnknownDim, 1});
    std::vector<std::string> names;
    for (const auto& variable : graph.variables()) {
      names.push_back(variable->name);
      CHECK(variable->trainable == (tags.size() == 1 || variable->name != "global_step"));
    }
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::string>{"d/bias", "d/kernel", "hidden/bias", "hidden/kernel"});
    for (const auto& node : graph.nodes()) {
      CHECK_FALSE(node->type().starts_with("TPU"));
      CHECK(node->type() != "NoOp");
      CHECK(node->type() != "RestoreV2");
    }
    // A second import uses the variables of the first; other nodes get new names.
    const size_t variables = graph.variables().size();
    const auto again = model.Import(meta, "serving_default", {{"x", x}}, graph);
    CHECK(graph.variables().size() == variables);
    CHECK(again.at("y") != outputs.at("y"));
    CHECK(again.at("y").name() != outputs.at("y").name());
  }
}

TEST_CASE("variables of TensorFlow 2 know their object's path") {
  const SavedModel model(SavedModelData("keras"));
  ImportedModel imported;
  Graph& graph = imported.graph();
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  const auto outputs = model.Import(model.Find({"serve"}), "serving_default", {{"x", x}}, graph);
  const Variable* const kernel = graph.FindVariable("dense/kernel");
  REQUIRE(kernel != nullptr);
  CHECK(kernel->object_path == "layer_with_weights-0/kernel");
}

TEST_CASE("a partitioned variable reads its slice") {
  const SavedModel model(SavedModelData("ref_variables"));
  ImportedModel imported;
  Graph& graph = imported.graph();
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  (void)model.Import(model.Find({"serve"}), "serving_default", {{"x", x}}, graph);
  const Variable* const part = graph.FindVariable("net/wide/part_1");
  REQUIRE(part != nullptr);
  CHECK(part->shape == Shape{2, 3});
}

TEST_CASE("an asset's tensor is its path") {
  const SavedModel model(SavedModelData("module"));
  ImportedModel imported;
  Graph& graph = imported.graph();
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  const auto outputs = model.Import(model.Find({"serve"}), "run", {{"x", x}}, graph);
  const Tensor path = ConstantValue(outputs.at("asset"));
  REQUIRE(path.valid());
  CHECK(path.strings()[0] == SavedModelData("module/assets/words.txt"));
}

std::string MessageOf(const std::function<void()>& fn, Code code) {
  try {
    fn();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.message();
  }
  return "nothing was thrown";
}

TEST_CASE("an error names what does not fit") {
  const SavedModel model(SavedModelData("tpu_v1"));
  const auto import = [&](const std::map<std::string, Value>& inputs, Graph& graph,
                          const std::string& signature = "serving_default") {
    return [&model, inputs, &graph, signature] {
      (void)model.Import(model.Find({"serve"}), signature, inputs, graph);
    };
  };
  ImportedModel imported;
  Graph& graph = imported.graph();
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 4}, "x");
  const Value ids = graph.Placeholder(DType::kInt64, {kUnknownDim, 4}, "ids");
  CHECK(MessageOf([&] { (void)model.Find({"train"}); }, Code::kData) ==
        "MetaGraphDef associated with tags 'train' could not be found in SavedModel " +
            SavedModelData("tpu_v1"));
  CHECK(MessageOf(import({{"x", x}}, graph, "predict"), Code::kData) ==
        "the MetaGraph with tags 'serve' has no signature 'predict'");
  CHECK(MessageOf(import({}, graph), Code::kData) ==
        "signature 'serving_default' needs its input 'x'");
  CHECK(MessageOf(import({{"x", x}, {"z", x}}, graph), Code::kData) ==
        "signature 'serving_default' has no input 'z'");
  CHECK(
      MessageOf(import({{"x", ids}}, graph), Code::kData) ==
      "Tensor shape and/or dtype validation failed for input x: expected float32 [?,4], got int64 "
      "[?,4]");
  CHECK(MessageOf([] { const SavedModel none(SavedModelData("none")); }, Code::kData) ==
        "SavedModel file does not exist at: " + SavedModelData("none") +
            "/{saved_model.pbtxt|saved_model.pb}");
}

}  // namespace
}  // namespace tpuest
