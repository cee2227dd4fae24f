// Layers of a job in Keras' words.

#include "models/keras/network_archive.h"

#include "core/base/error.h"
#include "core/nn/layers/network.h"
#include "core/ops/all_ops.h"
#include "models/keras/layer_arguments.h"
#include "tests/models/keras/testdata.h"

namespace tpuest {
namespace {

// The archive of layers on an image [4, 4, 1]; every variable is filled with its number from 1 on.
KerasArchive ArchiveOf(const std::vector<nn::Layer>& layers) {
  const OpRegistry registry(ops::AllOps());
  Graph graph(registry);
  nn::LayerContext context{.graph = graph};
  const Value image = graph.Placeholder(DType::kFloat, Shape({kUnknownDim, 4, 4, 1}), "image");
  std::ignore = nn::ApplyLayers(layers, context, {.named = {{"image", image}}, .only = image});
  std::map<std::string, Tensor> values;
  float next = 1;
  for (const auto& variable : graph.variables()) {
    Tensor tensor(DType::kFloat, variable->shape);
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = next;
    values.emplace(variable->name, tensor);
    ++next;
  }
  return KerasArchiveOf({.layers = layers,
                         .graph = graph,
                         .variables = values,
                         .inputs = {{"image", Shape({4, 4, 1})}, {"unused", Shape({2})}},
                         .outputs = {}});
}

const KerasVariables& ObjectAt(const KerasArchive& archive, const std::string& path) {
  for (const KerasVariables& object : archive.objects) {
    if (object.path == path) return object;
  }
  FAIL("no object at " << path);
  return archive.objects.front();
}

TEST_CASE("layers, their calls and their variables match those of Keras") {
  const KerasArchive archive =
      ArchiveOf({nn::Conv2D{.filters = 2, .kernel_size = 3, .padding = "SAME", .name = "stem/c"},
                 nn::BatchNormalization{.name = "bn"}, nn::ReLU{.max_value = 6.0, .name = "a"},
                 nn::Conv2D{.filters = 2, .kernel_size = 1, .name = "d"},
                 nn::SharedLayer{.layer = "a", .name = "a2"},
                 nn::Add{.name = "sum", .inputs = std::vector<std::string>{"a2", "bn"}}});
  const KerasJson& config = archive.config["config"];
  CHECK(archive.config["class_name"] == "Model");
  CHECK(config["input_layers"] == KerasJson::parse(R"([["image", 0, 0]])"));
  CHECK(config["output_layers"] == KerasJson::parse(R"([["sum", 0, 0]])"));
  const KerasJson& layers = config["layers"];
  REQUIRE(layers.size() == 6);
  CHECK(layers[0]["config"]["batch_input_shape"] == KerasJson::parse("[null, 4, 4, 1]"));
  CHECK(layers[1]["class_name"] == "Conv2D");
  CHECK(layers[1]["config"]["name"] == "stem_c");
  CHECK(layers[1]["config"]["padding"] == "same");
  CHECK_FALSE(layers[1]["config"].contains("inputs"));
  CHECK(layers[3]["inbound_nodes"] ==
        KerasJson::parse(R"([[["bn", 0, 0, {}]], [["d", 0, 0, {}]]])"));
  CHECK(layers[5]["inbound_nodes"] == KerasJson::parse(R"([[["a", 1, 0, {}], ["bn", 0, 0, {}]]])"));

  CHECK(ObjectAt(archive, "layers/conv2d").values.size() == 2);
  const KerasVariables& bn = ObjectAt(archive, "layers/batch_normalization");
  REQUIRE(bn.values.size() == 4);
  CHECK(bn.values[3].data<float>()[0] == 6);  // behind kernel, bias, gamma, beta, mean
  CHECK(ObjectAt(archive, "layers/conv2d_1").values[0].data<float>()[0] == 7);
  CHECK(ObjectAt(archive, "layers/re_lu").values.empty());
}

TEST_CASE("limits, penalties on results and seeds are written in Keras' words") {
  const KerasArchive archive =
      ArchiveOf({nn::Flatten{},
                 nn::Dense{.units = 2,
                           .activity_regularizer = nn::L2Regularizer{0.5},
                           .kernel_constraint = nn::MinMaxNorm{.rate = 0.5},
                           .bias_constraint = nn::NonNeg{},
                           .name = "d"},
                 nn::LeakyReLU{.negative_slope = 0.2, .name = "a"},
                 nn::Reshape{.target_shape = std::vector<int64_t>{2, 1}, .name = "r"},
                 nn::Dropout{.rate = 0.5, .seed = 3, .name = "p"}});
  const KerasJson& layers = archive.config["config"]["layers"];
  const KerasJson& dense = layers[2]["config"];
  CHECK(dense["kernel_constraint"] == KerasJson::parse(R"({"module": "keras.constraints",
      "class_name": "MinMaxNorm",
      "config": {"min_value": 0.0, "max_value": 1.0, "rate": 0.5, "axis": 0},
      "registered_name": null})"));
  CHECK(dense["bias_constraint"]["class_name"] == "NonNeg");
  CHECK(dense["activity_regularizer"]["class_name"] == "L2");
  CHECK(dense["activity_regularizer"]["module"] == "keras.regularizers");
  CHECK(layers[3]["config"] == KerasJson::parse(R"({"alpha": 0.2, "name": "a"})"));
  CHECK(layers[4]["config"]["target_shape"] == KerasJson::parse("[2, 1]"));
  CHECK(layers[5]["config"]["seed"] == 3);
}

TEST_CASE("objects are numbered in the order of model.layers, the deepest first") {
  // A shortcut that is written behind the long way is met there: at the depth where it is taken.
  const auto conv = [](int64_t filters, const char* name, const char* input) {
    return nn::Conv2D{.filters = filters, .kernel_size = 1, .name = name, .inputs = input};
  };
  const KerasArchive archive = ArchiveOf(
      {conv(2, "shortcut", "image"), conv(3, "long_1", "image"), conv(2, "long_2", "long_1"),
       nn::Add{.name = "sum", .inputs = std::vector<std::string>{"shortcut", "long_2"}}});
  CHECK(ObjectAt(archive, "layers/conv2d").values[1].shape() == Shape({3}));  // long_1
  CHECK(archive.config["config"]["layers"][1]["name"] == "long_1");
  CHECK(archive.config["config"]["layers"][2]["name"] == "shortcut");
  CHECK(archive.config["config"]["layers"][3]["name"] == "long_2");
}

TEST_CASE("a nested model is flattened, in inference mode if it is") {
  const KerasArchive archive = ArchiveOf(
      {nn::BatchNormalization{.name = "bn"},
       nn::NestedModel{.layers = {nn::BatchNormalization{.name = "bn_"}, nn::Flatten{}},
                       .trainable = false,
                       .training = false,
                       .name = "base"},
       nn::Dense{.units = 1, .kernel_regularizer = nn::L2Regularizer{.l2 = 0.5}, .name = "top"}});
  const KerasJson& layers = archive.config["config"]["layers"];
  REQUIRE(layers.size() == 5);
  CHECK(layers[1]["config"]["trainable"] == true);
  CHECK(layers[2]["config"]["trainable"] == false);
  CHECK(layers[2]["inbound_nodes"] == KerasJson::parse(R"([[["bn", 0, 0, {"training": false}]]])"));
  CHECK(layers[4]["config"]["kernel_regularizer"] ==
        KerasJson::parse(R"({"module": "keras.regularizers", "class_name": "L2",
                             "config": {"l2": 0.5}, "registered_name": null})"));
}

TEST_CASE("layers that one Keras version lacks or computes differently are refused") {
  CHECK_THROWS_AS(std::ignore = KerasConfigOf(nn::Transpose{.perm = {0}}), Error);
  CHECK_THROWS_AS(std::ignore = KerasConfigOf(nn::ThresholdedReLU{}), Error);
  CHECK_THROWS_AS(std::ignore = KerasConfigOf(nn::Dense{.units = 1, .activation = "hard_sigmoid"}),
                  Error);
  CHECK(KerasConfigOf(nn::Reshape{.shape = {2, 3}}).config["target_shape"] ==
        KerasJson::parse("[2, 3]"));
}

}  // namespace
}  // namespace tpuest
