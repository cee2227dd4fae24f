// keras_metadata.pb is Keras' message SavedMetadata: field 1 an object each, whose field 3 is its
// path from the root ("root.layer-1.layer-0") and field 5 its metadata, JSON with name and
// configuration. The variables are an object-based checkpoint whose root is the model; a layer's
// child `variables` lists its own in the order of get_weights().

#include "models/keras/saved_folder.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/io/object_graph.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

constexpr std::string_view kRoot = "root";
constexpr int kMostModels = 64;  // models in models

std::string MetadataPath(const std::string& folder) {
  return JoinPath(folder, "keras_metadata.pb");
}

// The fields of a message that are strings or messages, in their order; nullopt where it is
// damaged.
using Fields = std::vector<std::pair<uint64_t, std::string_view>>;
std::optional<Fields> FieldsOf(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    uint64_t tag = 0;
    uint64_t number = 0;
    std::string_view value;
    if (!TakeVarint(bytes, tag)) return std::nullopt;
    switch (tag & 7) {
      case kVarint:
        if (!TakeVarint(bytes, number)) return std::nullopt;
        break;
      case kFixed64:
      case kFixed32:
        if (!TakeBytes(bytes, (tag & 7) == kFixed64 ? 8 : 4, value)) return std::nullopt;
        break;
      case kLengthDelimited:
        if (!TakeVarint(bytes, number) || !TakeBytes(bytes, number, value)) return std::nullopt;
        fields.emplace_back(tag >> 3, value);
        break;
      default:
        return std::nullopt;
    }
  }
  return fields;
}

// The metadata of objects by their paths, as JSON's text.
std::map<std::string, std::string> MetadataOf(const std::string& place, std::string_view bytes) {
  std::map<std::string, std::string> metadata;
  const auto damaged = [&]() -> Error {
    return {Code::kData, place + ": damaged: it is not a message of Keras", "save the model again"};
  };
  const std::optional<Fields> objects = FieldsOf(bytes);
  if (!objects) throw damaged();
  for (const auto& [number, object] : *objects) {
    if (number != 1) continue;
    const std::optional<Fields> fields = FieldsOf(object);
    if (!fields) throw damaged();
    std::string path;
    std::string text;
    for (const auto& [field, value] : *fields) {
      if (field == 3) path = value;
      if (field == 5) text = value;
    }
    metadata.emplace(std::move(path), std::move(text));
  }
  return metadata;
}

// Layers and their weights in the graph of objects.
class WeightsReader {
 public:
  WeightsReader(const std::string& folder, const std::string& place,
                std::map<std::string, std::string> metadata)
      : place_(place),
        metadata_(std::move(metadata)),
        bundle_(std::make_shared<const BundleReader>(JoinPath(folder, "variables/variables"))) {
    std::optional<ObjectGraph> objects = ReadObjectGraph(*bundle_);
    if (!objects) {
      throw Error(Code::kCheckpoint,
                  bundle_->prefix() + ": its variables do not belong to objects");
    }
    objects_ = *std::move(objects);
  }

  std::vector<KerasLayerWeights> Read() {
    std::vector<KerasLayerWeights> layers;
    for (const Layer& layer : LayersOf(0, std::string(kRoot))) {
      KerasLayerWeights weights{.layer = layer.name, .weights = {}};
      AddWeights(layer, 0, weights.weights);
      if (!weights.weights.empty()) layers.push_back(std::move(weights));
    }
    return layers;
  }

 private:
  struct Layer {
    int node = 0;
    std::string path;
    std::string name;
  };

  // The layers with weights of a model, each under the name that its metadata say.
  std::vector<Layer> LayersOf(int node, const std::string& path) const {
    std::vector<Layer> layers;
    for (int k = 0;; ++k) {
      const std::string own = fmt::format("layer_with_weights-{}", k);
      const std::optional<int> layer = objects_.at(node).Find(own);
      if (!layer) return layers;
      layers.push_back({*layer, path + "." + own, ""});
      // The layer is also `layer-3`, and its metadata may be under either name.
      for (const ObjectGraph::Child& child : objects_.at(node).children) {
        const auto found = metadata_.find(path + "." + child.name);
        if (child.node != *layer || found == metadata_.end()) continue;
        const KerasJson metadata = ParseKerasJson(found->second, place_);
        const auto name = metadata.is_object() ? metadata.find("name") : metadata.end();
        if (name == metadata.end() || !name->is_string()) continue;
        layers.back() = {*layer, path + "." + child.name, name->get<std::string>()};
      }
    }
  }

  // Adds the weights of a layer, or of all layers of a model.
  void AddWeights(const Layer& layer, int depth, std::vector<KerasWeight>& weights) const {
    if (depth > kMostModels) {
      throw Error(Code::kCheckpoint, bundle_->prefix() + ": damaged: a layer contains itself");
    }
    const std::vector<Layer> inner = LayersOf(layer.node, layer.path);
    for (const Layer& each : inner) AddWeights(each, depth + 1, weights);
    if (!inner.empty()) return;
    const std::optional<int> list = objects_.at(layer.node).Find("variables");
    const std::map<int, std::string> names = NamesIn(layer.node);
    for (const ObjectGraph::Child& child : objects_.at(list.value_or(layer.node)).children) {
      const std::string& key = objects_.at(child.node).key;
      if (key.empty() || !bundle_->Has(key)) continue;
      const auto named = names.find(child.node);
      const std::string& own = named == names.end() ? child.name : named->second;
      weights.emplace_back(layer.name + "/" + own, bundle_, key);
    }
  }

  std::map<int, std::string> NamesIn(int node) const {
    std::map<int, std::string> names;
    for (const ObjectGraph::Child& child : objects_.at(node).children) {
      names.emplace(child.node, child.name);
    }
    return names;
  }

  std::string place_;
  std::map<std::string, std::string> metadata_;
  std::shared_ptr<const BundleReader> bundle_;
  ObjectGraph objects_;
};

}  // namespace

bool IsKerasSavedModel(const std::string& folder) {
  return DirectoryExists(folder) && FileExists(MetadataPath(folder));
}

KerasSavedModel ReadKerasSavedModel(const std::string& folder) {
  KerasSavedModel saved{.place = MetadataPath(folder)};
  std::map<std::string, std::string> metadata = MetadataOf(saved.place, ReadFile(saved.place));
  const auto root = metadata.find(std::string(kRoot));
  if (root != metadata.end()) saved.model = ParseKerasJson(root->second, saved.place);
  const auto config = saved.model.is_object() ? saved.model.find("config") : saved.model.end();
  if (config == saved.model.end() || !config->is_object() || !config->contains("layers")) {
    throw Error(
        Code::kData, saved.place + ": the model has no configuration of layers",
        "export a model that is written as a class, and read that: model: {type: saved_model}");
  }
  saved.layers = WeightsReader(folder, saved.place, std::move(metadata)).Read();
  return saved;
}

}  // namespace tpuest
