// Files that Keras 2.12, 2.15 and 3.9 wrote: what they are, and every value in them.

#include "models/keras/keras_file.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/zip/zip.h"
#include "tests/models/keras/testdata.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

KerasFile Read(const std::string& name) { return KerasFile::Of(name, KerasTestFile(name)); }

// The path of a dataset, behind the file's name (and the archive's member) in its place.
std::string PathOf(const KerasWeight& weight) {
  return weight.place().substr(weight.place().find(": /") + 3);
}

// Compares with what h5py finds, and counts.
int CheckWeights(const std::string& file, const std::vector<KerasWeight>& weights) {
  const nlohmann::json& datasets = KerasExpected(file)["datasets"];
  for (const KerasWeight& weight : weights) {
    INFO(weight.place());
    const nlohmann::json& expected = datasets.at(PathOf(weight));
    CHECK(weight.shape().dims() == expected["shape"].get<std::vector<int64_t>>());
    const Tensor tensor = weight.Read();
    CHECK(tensor.dtype() == weight.dtype());
    REQUIRE(tensor.elements() == static_cast<int64_t>(expected["values"].size()));
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      CHECK(tensor.AsDouble(i) == expected["values"][static_cast<size_t>(i)].get<double>());
    }
  }
  return static_cast<int>(weights.size());
}

int CheckObject(const std::string& file, const KerasObject& object) {
  int count = CheckWeights(file, object.weights);
  for (const auto& [class_name, layers] : object.layers) {
    for (const KerasObject& layer : layers) count += CheckObject(file, layer);
  }
  return count;
}

std::vector<std::string> NamesOf(const std::vector<KerasWeight>& weights) {
  std::vector<std::string> names;
  for (const KerasWeight& weight : weights) names.push_back(weight.name());
  return names;
}

std::string ErrorText(const std::string& name, const std::string& bytes) {
  try {
    static_cast<void>(KerasFile::Of(name, bytes));
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    return error.message();
  }
  return "nothing was thrown";
}

TEST_CASE("weights by layer match those of h5py") {
  for (const std::string file :
       {"k212_denses.h5", "k215_trainable.h5", "k215_frozen.h5", "k215_by_layer.h5",
        "k215_normalized.h5", "k39_nested.h5", "k39_packed.h5"}) {
    const KerasFile keras = Read(file);
    std::vector<std::string> names;
    size_t count = 0;
    for (const KerasLayerWeights& layer : keras.layers()) {
      names.push_back(layer.layer);
      count += static_cast<size_t>(CheckWeights(file, layer.weights));
    }
    CHECK(names == KerasExpected(file)["layers"].get<std::vector<std::string>>());
    CHECK(count == KerasExpected(file)["datasets"].size());
    CHECK(keras.top_level().weights.empty());
  }
}

TEST_CASE("weights by object match those of h5py") {
  for (const std::string file :
       {"k212_denses.keras", "k215_nested.keras", "k215_by_object.weights.h5", "k39_nested.keras",
        "k39_by_object.weights.h5", "k39_bfloat16.keras", "k39_tracked.weights.h5",
        "k39_latest.weights.h5", "k215_tabular.keras", "k39_tabular.keras"}) {
    const KerasFile keras = Read(file);
    CHECK(static_cast<size_t>(CheckObject(file, keras.root())) ==
          KerasExpected(file)["datasets"].size());
  }
}

// The configuration of the first layer of a name.
KerasJson ConfigOf(const KerasFile& file, const std::string& name) {
  for (const KerasJson& layer : file.config()["config"]["layers"]) {
    if (layer["config"]["name"] == name) return layer["config"];
  }
  return nullptr;
}

TEST_CASE("learned values of layers are in the configuration") {
  for (const std::string file : {"k215_tabular.keras", "k39_tabular.keras"}) {
    const KerasFile keras = Read(file);
    CHECK(ConfigOf(keras, "words")["vocabulary"] ==
          KerasJson({"", "[UNK]", "[UNK]", "b", "yes", "c", "a", "12"}));
    CHECK(ConfigOf(keras, "sizes")["vocabulary"] == KerasJson({-1, 7, 9, 5}));
    CHECK(ConfigOf(keras, "weighted")["idf_weights"].size() == 6);
    CHECK(ConfigOf(keras, "ages")["bin_boundaries"].size() == 3);
  }
}

TEST_CASE("an error names the line of a vocabulary of integers that is not an integer") {
  const std::string bytes = KerasTestFile("k215_tabular.keras");
  const ZipReader archive("m", bytes, nullptr);
  std::vector<std::pair<std::string, std::string_view>> members;
  for (const std::string& name : archive.Names()) {
    const bool is_sizes = name == "assets/layers/integer_lookup/vocabulary.txt";
    members.emplace_back(name, is_sizes ? "-1\n7\nseven" : archive.Read(name).bytes);
  }
  CHECK(ErrorText("m", ZipArchive(members)) ==
        "m: assets/layers/integer_lookup/vocabulary.txt: line 3 is 'seven', expected an integer");
}

TEST_CASE("a file is recognized by its content") {
  const auto kind = [](const std::string& file) {
    const KerasFile keras = KerasFile::Of("model", KerasTestFile(file));
    CHECK(keras.has_weights() == (keras.kind() != KerasFileKind::kConfig));
    return std::pair(keras.kind(), keras.has_config());
  };
  CHECK(kind("k215_trainable.h5") == std::pair(KerasFileKind::kModel, true));
  CHECK(kind("k215_by_layer.h5") == std::pair(KerasFileKind::kLayerWeights, false));
  CHECK(kind("k215_by_object.weights.h5") == std::pair(KerasFileKind::kObjectWeights, false));
  CHECK(kind("k212_denses.keras") == std::pair(KerasFileKind::kArchive, true));
  CHECK(kind("k39_config.json") == std::pair(KerasFileKind::kConfig, true));
}

TEST_CASE("a nested model's weights have the order that its flag gave them") {
  const std::vector<std::string> trainable = {"Conv1/kernel:0",
                                              "Conv1/bn/gamma:0",
                                              "Conv1/bn/beta:0",
                                              "dw/depthwise_kernel:0",
                                              "dw_BN/beta:0",
                                              "Conv1/bn/moving_mean:0",
                                              "Conv1/bn/moving_variance:0",
                                              "dw_BN/moving_mean:0",
                                              "dw_BN/moving_variance:0"};
  const std::vector<std::string> frozen = {
      "Conv1/kernel:0",         "Conv1/bn/gamma:0",           "Conv1/bn/beta:0",
      "Conv1/bn/moving_mean:0", "Conv1/bn/moving_variance:0", "dw/depthwise_kernel:0",
      "dw_BN/beta:0",           "dw_BN/moving_mean:0",        "dw_BN/moving_variance:0"};
  CHECK(NamesOf(Read("k215_trainable.h5").layers()[1].weights) == trainable);
  CHECK(NamesOf(Read("k215_frozen.h5").layers()[1].weights) == frozen);
}

TEST_CASE("the k-th object of a class is the k-th layer of it, whatever numbers it has") {
  const KerasFile keras = Read("k212_denses.keras");
  const std::vector<KerasObject>& denses = keras.root().layers.at("dense");
  REQUIRE(denses.size() == 3);
  CHECK(denses[1].number == 2);
  CHECK(denses[2].path == "_layer_checkpoint_dependencies/dense_4");
  CHECK(denses[1].weights[0].shape() == Shape({2, 3}));
  CHECK(denses[2].weights[0].shape() == Shape({3, 1}));
  const KerasObject& norm = keras.root().layers.at("batch_normalization")[0];
  CHECK(NamesOf(norm.weights) == std::vector<std::string>{"0", "1", "2", "3"});
}

TEST_CASE("an object inside an object has its path, and in Keras 3 its name") {
  for (const auto& [file, name] :
       {std::pair("k215_nested.keras", ""), std::pair("k39_nested.keras", "dw")}) {
    const KerasFile keras = Read(file);
    const KerasObject& dw =
        keras.root().layers.at("functional")[0].layers.at("depthwise_conv2d")[0];
    CHECK(dw.path == "layers/functional/layers/depthwise_conv2d");
    CHECK(dw.name == name);
  }
}

TEST_CASE("configurations, versions and compile settings are found in each kind") {
  const auto check = [](const std::string& file, const std::string& version,
                        const std::string& place) {
    const KerasFile keras = Read(file);
    CHECK(keras.config()["class_name"] == "Functional");
    CHECK(keras.config()["config"]["name"] == "transfer");
    CHECK(keras.keras_version() == version);
    CHECK(keras.config_place() == file + place);
    return keras.training();
  };
  const KerasJson h5 = check("k215_trainable.h5", "2.15.0", ": model_config");
  CHECK(h5["optimizer_config"]["class_name"] == "Custom>Adam");
  CHECK(h5["loss"] == "mse");
  CHECK(check("k215_frozen.h5", "2.15.0", ": model_config").is_null());
  const KerasJson archive = check("k215_nested.keras", "2.15.0", ": config.json");
  CHECK(archive["optimizer"] == "adam");
  CHECK(archive["metrics"] == KerasJson::array({"mae"}));
  CHECK(check("k39_nested.keras", "3.9.2", ": config.json")["loss"] == "mse");
  CHECK(check("k39_nested.h5", "3.9.2", ": model_config")["loss"] == "mse");
  CHECK(check("k215_config.json", "2.15.0", "").is_null());
  CHECK(check("k39_config.json", "", "")["loss"] == "mse");
}

TEST_CASE("groups that track their order have names, numbers and objects in a heap") {
  const KerasFile keras = Read("k39_tracked.weights.h5");
  const std::vector<KerasObject>& denses = keras.root().layers.at("dense");
  REQUIRE(denses.size() == 60);
  for (int i = 0; i < 60; ++i) {
    CHECK(denses[static_cast<size_t>(i)].number == i);
    CHECK(denses[static_cast<size_t>(i)].name == "layer_" + std::to_string(i));
  }
}

TEST_CASE("the optimizer's variables are found in their order") {
  const KerasFile keras = Read("k215_trainable.h5");
  const KerasLayerWeights& optimizer = keras.optimizer();
  REQUIRE(optimizer.weights.size() > 2);
  CHECK(optimizer.weights[0].name() == "iteration:0");
  CHECK(optimizer.weights[0].dtype() == DType::kInt64);
  CHECK(StartsWith(optimizer.weights[1].name(), "Adam/m/"));
}

TEST_CASE("bfloat16 is read as float32, a counter unchanged") {
  const KerasFile bfloat16 = Read("k39_bfloat16.keras");
  CHECK(bfloat16.root().layers.at("dense")[0].weights[0].dtype() == DType::kFloat);
  const KerasFile normalized = Read("k215_normalized.h5");
  const std::vector<KerasWeight>& weights = normalized.layers()[0].weights;
  REQUIRE(weights.size() == 3);
  CHECK(weights[2].dtype() == DType::kInt64);
}

TEST_CASE("a file on disk is the same as its bytes") {
  const TemporaryFolder folder;
  const std::string path = folder.File("model.bin");
  WriteFileAtomically(path, KerasTestFile("k215_nested.keras"));
  CHECK(KerasFile::Open(path).config() == Read("k215_nested.keras").config());
  CHECK(KerasFile::Open(path).config_place() == path + ": config.json");
}

TEST_CASE("files that are not from Keras, or are cut, are refused") {
  CHECK(ErrorText("m", "") == "m: is not a Keras file");
  CHECK(ErrorText("m", "[1]") == "m: is not a Keras file");
  CHECK(ErrorText("m", "{\"a\": 1}") ==
        "m: expected a model, {\"class_name\": ..., \"config\": ...}");
  CHECK(ErrorText("m", "{\"a\": 1,}") == "m: character 9: a key in quotes is expected");
  const std::string h5 = KerasTestFile("k215_trainable.h5");
  CHECK(StartsWith(ErrorText("m.h5", h5.substr(0, h5.size() / 2)), "m.h5: cut: "));
  const std::string keras = KerasTestFile("k215_nested.keras");
  CHECK(ErrorText("m.keras", keras.substr(0, keras.size() / 2)) ==
        "m.keras: cut: the end of the archive is missing");
}

TEST_CASE("an error names the layer of a weight that an attribute names and the file lacks") {
  std::string bytes = KerasTestFile("k215_by_layer.h5");
  // The second time is the link's name; the first one, in the attribute, stays.
  const size_t first = bytes.find("kernel:0");
  REQUIRE(first != std::string::npos);
  bytes[first] = 'K';
  const std::string text = ErrorText("m.h5", bytes);
  CHECK_MESSAGE((text.find("is missing") != std::string::npos && text.find("m.h5: /") == 0), text);
}

TEST_CASE("Python's numbers and escapes are read as Python means them") {
  const KerasJson json = ParseKerasJson(
      R"({"b": [NaN, Infinity, -Infinity, -0.5e1, 7, 1e999, 1e-999, 12345678901234567890],
          "a": "\u00e9\ud83d\ude00\n", "c": [], "d": {}})",
      "t");
  CHECK(json.begin().key() == "b");
  CHECK(std::isnan(json["b"][0].get<double>()));
  CHECK(json["b"][1] == HUGE_VAL);
  CHECK(json["b"][2] == -HUGE_VAL);
  CHECK(json["b"][3] == -5.0);
  CHECK(json["b"][4].is_number_integer());
  CHECK(json["b"][5] == HUGE_VAL);
  CHECK(json["b"][6] == 0.0);
  CHECK(json["b"][7] == 12345678901234567890.0);
  CHECK(json["a"] == "\xC3\xA9\xF0\x9F\x98\x80\n");
}

TEST_CASE("JSON that is too deep, cut or repeats a key is refused at its place") {
  const auto fault = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(ParseKerasJson(text, "t"));
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing was thrown";
  };
  CHECK(fault(std::string(100000, '[')) == "t: character 202: nested more than 200 deep");
  CHECK(fault("{\"a\": 1, \"a\": 2}") == "t: character 14: a key occurs twice");
  CHECK(fault("[1, 2") == "t: character 6: a comma or ']' is expected");
  CHECK(fault("\"ab") == "t: character 4: it ends within a string");
  CHECK(fault("\"\\ud800\"") == "t: character 8: an incomplete surrogate pair");
  CHECK(fault("[1] 2") == "t: character 5: text follows after its end");
  CHECK(fault("nul") == "t: character 1: a value is expected");
}

TEST_CASE("class names are converted to snake case") {
  CHECK(KerasSnakeCase("Conv2D") == "conv2d");
  CHECK(KerasSnakeCase("Conv2DTranspose") == "conv2d_transpose");
  CHECK(KerasSnakeCase("ReLU") == "re_lu");
  CHECK(KerasSnakeCase("PReLU") == "p_re_lu");
  CHECK(KerasSnakeCase("LeakyReLU") == "leaky_re_lu");
  CHECK(KerasSnakeCase("TFOpLambda") == "tf_op_lambda");
  CHECK(KerasSnakeCase("GlobalAveragePooling2D") == "global_average_pooling2d");
  CHECK(KerasSnakeCase("InputLayer") == "input_layer");
}

}  // namespace
}  // namespace tpuest
