#include "cli/look/inspect/keras.h"

#include <map>

#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "models/keras/keras_file.h"

namespace tpuest::cli {
namespace {

// A layer of the file: of the configuration, of the weights, or of both.
struct ShownLayer {
  std::string name;
  std::string type;  // its class; "" where the file does not say
  std::vector<KerasWeight> weights;
};

std::string Text(const KerasJson& object, const char* key) {
  const bool has_text = object.is_object() && object.contains(key) && object.at(key).is_string();
  return has_text ? object.at(key).get<std::string>() : "";
}

// Adds the layers' classes by name, including those of nested models.
void AddClasses(const KerasJson& model, std::map<std::string, std::string>& classes) {
  if (!model.is_object() || !model.contains("config")) return;
  const KerasJson& config = model.at("config");
  const KerasJson& layers =
      config.is_object() && config.contains("layers") ? config.at("layers") : config;
  if (!layers.is_array()) return;
  for (const KerasJson& layer : layers) {
    if (!layer.is_object() || !layer.contains("config")) continue;
    std::string name = Text(layer, "name");
    if (name.empty()) name = Text(layer.at("config"), "name");
    classes.emplace(name, Text(layer, "class_name"));
    AddClasses(layer, classes);
  }
}

void AddObjects(const KerasObject& object, const std::string& type,
                std::vector<ShownLayer>& layers) {
  if (!object.weights.empty()) {
    layers.push_back({object.name.empty() ? object.path : object.name, type, object.weights});
  }
  for (const auto& [below, objects] : object.layers) {
    for (const KerasObject& one : objects) AddObjects(one, below, layers);
  }
}

std::vector<ShownLayer> LayersOf(const KerasFile& file) {
  std::map<std::string, std::string> classes;
  AddClasses(file.config(), classes);
  std::vector<ShownLayer> layers;
  for (const KerasLayerWeights& layer : file.layers()) {
    layers.push_back({layer.layer, classes[layer.layer], layer.weights});
  }
  if (file.has_weights()) AddObjects(file.root(), "", layers);
  if (!layers.empty() || !file.has_config()) return layers;
  for (const auto& [name, type] : classes) layers.push_back({name, type, {}});
  return layers;
}

int64_t ParametersOf(const std::vector<ShownLayer>& layers) {
  int64_t sum = 0;
  for (const ShownLayer& layer : layers) {
    for (const KerasWeight& weight : layer.weights) sum += weight.shape().elements();
  }
  return sum;
}

// "loss binary_crossentropy, optimizer Adam" as the file has it, in short.
std::string CompiledText(const KerasJson& training) {
  if (!training.is_object() || training.empty()) return "not compiled";
  const auto shown = [](const KerasJson& value) {
    if (value.is_string()) return value.get<std::string>();
    const std::string name = Text(value, "class_name");
    return name.empty() ? value.dump() : name;
  };
  const char* const key = training.contains("optimizer_config") ? "optimizer_config" : "optimizer";
  std::string text;
  if (training.contains("loss")) text += "loss " + shown(training.at("loss"));
  if (training.contains(key)) text += ", optimizer " + shown(training.at(key));
  return "compiled: " + text;
}

void PrintKeras(const KerasFile& file, const std::vector<ShownLayer>& layers) {
  fmt::print("{}: {}{}\n", file.name(), NameOf(file.kind()),
             file.keras_version().empty() ? "" : ", Keras " + file.keras_version());
  fmt::print("{} layers, {} parameters; {}\n", layers.size(), WithCommas(ParametersOf(layers)),
             CompiledText(file.training()));
  for (const ShownLayer& layer : layers) {
    fmt::print("  {}{}\n", layer.name, layer.type.empty() ? "" : " (" + layer.type + ")");
    for (const KerasWeight& weight : layer.weights) {
      fmt::print("    {} {} {}\n", weight.name(), NameOf(weight.dtype()), weight.shape().Text());
    }
  }
}

}  // namespace

bool BeginsAsKeras(const std::string& path) {
  constexpr size_t kHead = 512;
  const MappedFile file(path);
  const std::string_view head = file.bytes().substr(0, kHead);
  return head.starts_with("\x89HDF\r\n\x1a\n") || head.starts_with("PK\x03\x04") ||
         (head.starts_with("{") && head.find("\"class_name\"") != std::string_view::npos);
}

int ShowKeras(const Invocation& invocation, const std::string& path) {
  const KerasFile file = KerasFile::Open(path);
  const std::vector<ShownLayer> layers = LayersOf(file);
  if (!invocation.json) {
    PrintKeras(file, layers);
    return 0;
  }
  Json shown = Json::array();
  for (const ShownLayer& layer : layers) {
    Json weights = Json::array();
    for (const KerasWeight& weight : layer.weights) {
      weights.push_back({{"name", weight.name()},
                         {"shape", weight.shape().dims()},
                         {"dtype", std::string(NameOf(weight.dtype()))}});
    }
    shown.push_back({{"name", layer.name}, {"class", layer.type}, {"weights", weights}});
  }
  const bool is_compiled = file.training().is_object() && !file.training().empty();
  PrintDocument("inspect", {{"kind", "keras"},
                            {"path", path},
                            {"format", std::string(NameOf(file.kind()))},
                            {"keras_version", file.keras_version()},
                            {"layers", shown},
                            {"parameters", ParametersOf(layers)},
                            {"compiled", is_compiled ? Json(file.training()) : Json()}});
  return 0;
}

}  // namespace tpuest::cli
