// Keras' files by their content:
//   .keras    a zip of metadata.json, config.json and model.weights.h5
//   .h5       HDF5; at the root, or in the group model_weights of a whole model, the attribute
//             layer_names, and a group a layer with the attribute weight_names. The strings of a
//             list that is too long for an attribute are in layer_names0, layer_names1, ...
//   .weights.h5   HDF5; a group an object, with a group `vars` of datasets 0, 1, ...
//   JSON      begins with {
//   a folder with keras_metadata.pb: saved_folder.h

#include "models/keras/keras_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/zip/zip.h"
#include "models/keras/learned.h"
#include "models/keras/saved_folder.h"

namespace tpuest {
namespace {

constexpr std::string_view kLayers = "layers";
// The name in Keras 2.12 to 2.14.
constexpr std::string_view kOldLayers = "_layer_checkpoint_dependencies";
constexpr std::string_view kIdfWeights = "idf_weights";
constexpr int kMostDepth = 64;  // of objects in objects

// Returns the strings of an attribute, or of the attributes into which a long list was split.
std::vector<std::string> StringList(const Hdf5Object& object, const std::string& attribute) {
  if (object.HasAttribute(attribute)) return object.Strings(attribute);
  std::vector<std::string> all;
  for (int i = 0; object.HasAttribute(fmt::format("{}{}", attribute, i)); ++i) {
    for (std::string& text : object.Strings(fmt::format("{}{}", attribute, i))) {
      all.push_back(std::move(text));
    }
  }
  return all;
}

bool HasList(const Hdf5Object& object, const std::string& attribute) {
  return object.HasAttribute(attribute) || object.HasAttribute(attribute + "0");
}

// The one string of an attribute; empty if it is not there.
std::string OneString(const Hdf5Object& object, std::string_view attribute) {
  const std::vector<std::string> strings = object.Strings(attribute);
  return strings.empty() ? "" : strings.front();
}

// A name as messages have it: a damaged file may hold any bytes, and as many as it likes.
std::string Shown(std::string_view name) {
  constexpr size_t kMost = 200;
  std::string shown;
  for (const char c : name.substr(0, kMost)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return shown + (name.size() > kMost ? "..." : "");
}

// "conv2d" and 3 of "conv2d_3".
std::pair<std::string, int> ClassAndNumber(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  int number = 0;
  if (digits >= 2 && digits < name.size() && name[digits - 1] == '_') {
    const auto [end, error] =
        std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (error == std::errc()) return {std::string(name.substr(0, digits - 1)), number};
  }
  return {std::string(name), 0};
}

}  // namespace

class KerasFileReader {
 public:
  KerasFileReader(std::string name, std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {
    file_.name_ = std::move(name);
  }

  KerasFile Read() {
    if (IsZip(bytes_)) {
      ReadArchive();
    } else if (IsHdf5(bytes_)) {
      ReadHdf5();
    } else if (bytes_.substr(0, bytes_.find_first_not_of(" \t\r\n") + 1).find('{') !=
               std::string_view::npos) {
      ReadConfig();
    } else {
      Fault("is not a Keras file",
            "expected a .keras archive, an .h5 file of a model or of weights, or model.to_json()");
    }
    return std::move(file_);
  }

  // The folder of the file's name.
  KerasFile ReadSaved() {
    file_.kind_ = KerasFileKind::kSavedModel;
    KerasSavedModel saved = ReadKerasSavedModel(file_.name_);
    TakeVersion(saved.model);
    const auto training = saved.model.find("training_config");
    if (training != saved.model.end()) file_.training_ = *training;
    TakeConfig({{"class_name", saved.model["class_name"]}, {"config", saved.model["config"]}});
    file_.layers_ = std::move(saved.layers);
    return std::move(file_);
  }

 private:
  [[noreturn]] void Fault(const std::string& message, std::string hint = "") const {
    throw Error(Code::kData, file_.name_ + ": " + message, std::move(hint));
  }

  void ReadConfig() {
    file_.kind_ = KerasFileKind::kConfig;
    TakeConfig(ParseKerasJson(bytes_, file_.name_));
    TakeVersion(file_.config_);
  }

  void ReadArchive() {
    file_.kind_ = KerasFileKind::kArchive;
    const ZipReader zip(file_.name_, bytes_, owner_);
    if (!zip.Has("config.json")) {
      Fault("is a zip archive without config.json",
            "load_model() reads archives that model.save(\"NAME.keras\") has written");
    }
    TakeConfig(ParseKerasJson(zip.Read("config.json").bytes, file_.name_ + ": config.json"));
    if (zip.Has("metadata.json")) {
      TakeVersion(ParseKerasJson(zip.Read("metadata.json").bytes, file_.name_ + ": metadata.json"));
    }
    constexpr std::string_view kWeights = "model.weights.h5";
    if (!zip.Has(kWeights)) {
      const std::string other = zip.Has("model.weights.npz")    ? "model.weights.npz"
                                : zip.Has("model.weights.json") ? "sharded model.weights.json"
                                                                : "";
      Fault(other.empty() ? "contains no weights: model.weights.h5 is missing"
                          : fmt::format("its weights are in {}, expected model.weights.h5", other),
            "save the model again with model.save(\"NAME.keras\")");
    }
    const ZipData weights = zip.Read(kWeights);
    ReadObjects(Hdf5Object::Root(fmt::format("{}: {}", file_.name_, kWeights), weights.bytes,
                                 weights.owner));
    AddLearned(zip, file_.root_, file_.name_, file_.config_);
  }

  void ReadHdf5() {
    const Hdf5Object root = Hdf5Object::Root(file_.name_, bytes_, owner_);
    if (root.HasAttribute("model_config")) {
      file_.kind_ = KerasFileKind::kModel;
      ReadWhole(root);
    } else if (HasList(root, "layer_names")) {
      file_.kind_ = KerasFileKind::kLayerWeights;
      file_.keras_version_ = OneString(root, "keras_version");
      ReadLayers(root);
    } else if (root.Find(kLayers) || root.Find(kOldLayers)) {
      file_.kind_ = KerasFileKind::kObjectWeights;
      ReadObjects(root);
    } else {
      Fault(
          "is an HDF5 file but not from Keras: it has neither model_config nor layer_names nor "
          "layers");
    }
  }

  void ReadWhole(const Hdf5Object& root) {
    file_.keras_version_ = OneString(root, "keras_version");
    TakeConfig(ParseKerasJson(OneString(root, "model_config"), file_.name_ + ": model_config"));
    if (root.HasAttribute("training_config")) {
      file_.training_ =
          ParseKerasJson(OneString(root, "training_config"), file_.name_ + ": training_config");
    }
    const std::optional<Hdf5Object> weights = root.Find("model_weights");
    if (!weights) Fault("contains no weights: the group model_weights is missing");
    if (file_.keras_version_.empty()) file_.keras_version_ = OneString(*weights, "keras_version");
    ReadLayers(*weights);
    if (const std::optional<Hdf5Object> optimizer = root.Find("optimizer_weights")) {
      file_.optimizer_ = Weights("optimizer_weights", *optimizer);
    }
  }

  // {"class_name", "config"}; model.to_json() and archives add how the model was compiled.
  void TakeConfig(KerasJson config) {
    file_.config_ = std::move(config);
    const KerasJson& found = file_.config_;
    if (!found.is_object() || !found.contains("class_name") || !found["class_name"].is_string() ||
        !found.contains("config")) {
      throw Error(Code::kData, file_.config_place() +
                                   ": expected a model, {\"class_name\": ..., \"config\": ...}");
    }
    if (found.contains("compile_config")) file_.training_ = found["compile_config"];
  }

  void TakeVersion(const KerasJson& json) {
    if (!json.is_object() || !json.contains("keras_version")) return;
    const KerasJson& version = json["keras_version"];
    if (version.is_string()) file_.keras_version_ = version.get<std::string>();
  }

  void ReadLayers(const Hdf5Object& group) {
    if (file_.keras_version_.empty() || StartsWith(file_.keras_version_, "1.")) {
      Fault("was written by Keras 1, expected Keras 2 or 3",
            "load it in Keras 2 and save it again");
    }
    std::set<std::string> known;
    for (const std::string& layer : StringList(group, "layer_names")) {
      const std::optional<Hdf5Object> object = group.Find(layer);
      if (!object) {
        throw Error(Code::kData, fmt::format("{}: the group of layer \"{}\" is missing",
                                             group.place(), Shown(layer)));
      }
      if (!known.insert(layer).second) {
        throw Error(Code::kData, fmt::format("{}: layer \"{}\" occurs twice in layer_names",
                                             group.place(), Shown(layer)));
      }
      file_.layers_.push_back(Weights(layer, *object));
    }
    if (const auto top = group.Find("top_level_model_weights")) {
      file_.top_level_ = Weights("top_level_model_weights", *top);
    }
  }

  static KerasLayerWeights Weights(const std::string& layer, const Hdf5Object& group) {
    KerasLayerWeights found{.layer = layer, .weights = {}};
    std::set<std::string> known;
    for (const std::string& name : StringList(group, "weight_names")) {
      std::optional<Hdf5Object> dataset = group.Find(name);
      if (!dataset) {
        throw Error(Code::kData, fmt::format("{}: \"{}\" of weight_names is missing", group.place(),
                                             Shown(name)));
      }
      if (!known.insert(name).second) {
        throw Error(Code::kData, fmt::format("{}: \"{}\" occurs twice in weight_names",
                                             group.place(), Shown(name)));
      }
      found.weights.emplace_back(name, *std::move(dataset));
    }
    return found;
  }

  void ReadObjects(const Hdf5Object& root) { file_.root_ = Object(root, "", 0); }

  KerasObject Object(const Hdf5Object& group, const std::string& path, int depth) {
    Meet(group, depth);
    KerasObject object{.path = path};
    for (const std::string& name : group.Names()) {
      const Hdf5Object child = *group.Find(name);
      const std::string child_path = path.empty() ? name : path + "/" + name;
      if (name == "vars") {
        object.name = OneString(child, "name");
        object.weights = Variables(child, depth);
      } else if (name == kLayers || name == kOldLayers) {
        ReadLayerObjects(child, child_path, depth + 1, object);
      } else if (!child.is_dataset()) {
        object.parts.emplace(name, Object(child, child_path, depth + 1));
      }
    }
    return object;
  }

  void ReadLayerObjects(const Hdf5Object& group, const std::string& path, int depth,
                        KerasObject& parent) {
    Meet(group, depth);
    for (const std::string& name : group.Names()) {
      KerasObject layer = Object(*group.Find(name), path + "/" + name, depth + 1);
      auto [class_name, number] = ClassAndNumber(name);
      layer.number = number;
      parent.layers[std::move(class_name)].push_back(std::move(layer));
    }
    for (auto& [class_name, layers] : parent.layers) {
      std::stable_sort(
          layers.begin(), layers.end(),
          [](const KerasObject& a, const KerasObject& b) { return a.number < b.number; });
    }
  }

  // Datasets 0, 1, ..., in the order of their numbers, or what a layer has called "idf_weights".
  std::vector<KerasWeight> Variables(const Hdf5Object& vars, int depth) {
    Meet(vars, depth);
    std::vector<KerasWeight> weights;
    const size_t count = vars.Names().size();
    if (count == 1 && vars.Find(kIdfWeights)) {
      weights.emplace_back(std::string(kIdfWeights), *vars.Find(kIdfWeights));
      return weights;
    }
    for (size_t i = 0; i < count; ++i) {
      const std::string name = std::to_string(i);
      std::optional<Hdf5Object> dataset = vars.Find(name);
      if (!dataset) {
        throw Error(Code::kData, fmt::format("{}: has {} variables, but none is called {}",
                                             vars.place(), count, name));
      }
      weights.emplace_back(name, *std::move(dataset));
    }
    return weights;
  }

  // Keras links a group once; one that holds itself would have no end.
  void Meet(const Hdf5Object& group, int depth) {
    if (depth > kMostDepth || !met_.insert(group.address()).second) {
      throw Error(Code::kData,
                  group.place() + ": damaged: it is in several groups, or contains itself");
    }
  }

  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
  std::set<uint64_t> met_;
  KerasFile file_;
};

std::string_view NameOf(KerasFileKind kind) {
  switch (kind) {
    case KerasFileKind::kModel:
      return "a whole model (.h5)";
    case KerasFileKind::kLayerWeights:
      return "weights by layer (.h5)";
    case KerasFileKind::kObjectWeights:
      return "weights by object (.weights.h5)";
    case KerasFileKind::kArchive:
      return "a whole model (.keras)";
    case KerasFileKind::kSavedModel:
      return "a whole model (SavedModel)";
    case KerasFileKind::kConfig:
      return "a configuration (JSON)";
  }
  return "";
}

KerasFile KerasFile::Open(const std::string& path) {
  if (IsKerasSavedModel(path)) return KerasFileReader(path, "", nullptr).ReadSaved();
  if (const auto kind = KindOfOther(path)) {
    throw Error(Code::kData, fmt::format("{}: is {}, expected a Keras file", path, *kind));
  }
  auto file = std::make_shared<const MappedFile>(path);
  return KerasFileReader(path, file->bytes(), file).Read();
}

KerasFile KerasFile::Of(const std::string& name, std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return KerasFileReader(name, *owner, owner).Read();
}

std::string KerasFile::config_place() const {
  switch (kind_) {
    case KerasFileKind::kArchive:
      return name_ + ": config.json";
    case KerasFileKind::kModel:
      return name_ + ": model_config";
    case KerasFileKind::kSavedModel:
      return name_ + "/keras_metadata.pb";
    default:
      return name_;
  }
}

// An underscore before a capital that small letters follow, unless it is the first, and one between
// a small letter and a capital.
std::string KerasSnakeCase(std::string_view class_name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string snake;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    if (i > 0 && is_upper(c)) {
      const bool begins_word = i + 1 < class_name.size() && is_lower(class_name[i + 1]);
      if (begins_word || is_lower(class_name[i - 1])) snake += '_';
    }
    snake += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return snake;
}

}  // namespace tpuest
