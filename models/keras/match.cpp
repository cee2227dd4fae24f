#include "models/keras/match.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "models/keras/keras_file.h"
#include "models/keras/learned.h"

namespace tpuest {
namespace {

// A layer of the graph with variables, or a model that is a layer.
struct NetLayer {
  std::string name;
  std::string type;  // of a layer: Keras' class in snake case
  std::vector<const Variable*> variables;
  std::vector<NetLayer> layers;  // of a model
  bool is_model = false;
};

std::string LayerOf(const std::string& variable) { return variable.substr(0, variable.rfind('/')); }

// Keras' name of a weight without the number of the op's output: "dense/kernel".
std::string WithoutOutput(const std::string& name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

[[noreturn]] void RefuseMatch(std::string message, std::string hint = "") {
  throw Error(Code::kCheckpoint, std::move(message), std::move(hint));
}

// The layers with variables as the graph has them, from the variables' object paths.
class NetReader {
 public:
  explicit NetReader(const KerasTarget& target) : target_(target) {
    for (const GraphLayer& layer : target.graph.layers()) types_[layer.name] = layer.type;
  }

  NetLayer Read() {
    NetLayer root{.is_model = true};
    for (size_t i = target_.first_variable; i < target_.end_variable; ++i) {
      const Variable& variable = *target_.graph.variables()[i];
      if (!variable.local) Add(variable, root);
    }
    return root;
  }

 private:
  // "layer_with_weights-0/layer_with_weights-1/gamma" is the second layer's of the first model.
  void Add(const Variable& variable, NetLayer& root) {
    std::string prefix = target_.object_prefix;
    std::vector<std::string> steps = Split(variable.object_path.substr(prefix.size()), '/');
    NetLayer* at = &root;
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      prefix += steps[i] + "/";
      const bool is_model = i + 2 < steps.size();
      const auto model = target_.models.find(prefix);
      const std::string name = !is_model                       ? LayerOf(variable.name)
                               : model == target_.models.end() ? prefix
                                                               : model->second;
      if (at->layers.empty() || at->layers.back().name != name) {
        const std::string type = is_model ? "" : types_[name];
        at->layers.push_back({.name = name, .type = type, .is_model = is_model});
      }
      at = &at->layers.back();
    }
    at->variables.push_back(&variable);
  }

  const KerasTarget& target_;
  std::map<std::string, std::string> types_;
};

struct KerasMatch {
  const Variable* variable = nullptr;
  KerasWeight weight;
};

void Flatten(const NetLayer& net, std::vector<const NetLayer*>& leaves) {
  for (const NetLayer& layer : net.layers) {
    if (layer.is_model) {
      Flatten(layer, leaves);
    } else {
      leaves.push_back(&layer);
    }
  }
}

class Matcher {
 public:
  Matcher(const KerasFile& file, const NetLayer& root) : file_(file), root_(root) {}

  std::vector<KerasMatch> Run() {
    if (!file_.has_weights()) {
      throw Error(Code::kData, fmt::format("{} has no weights", file_.name()),
                  "model.save_weights(\"model.weights.h5\") writes them");
    }
    if (file_.kind() == KerasFileKind::kModel || file_.kind() == KerasFileKind::kLayerWeights ||
        file_.kind() == KerasFileKind::kSavedModel) {
      ByLayer();
    } else {
      KerasObject objects = file_.root();
      if (file_.has_config()) NameObjects(file_.config(), objects);
      ByObject(root_, objects);
    }
    return std::move(matches_);
  }

 private:
  // ---- weights by layer -------------------------------------------------------------------------

  void ByLayer() {
    std::vector<const KerasLayerWeights*> groups;
    std::set<std::string> names;
    for (const KerasLayerWeights& group : file_.layers()) {
      if (group.weights.empty()) continue;
      groups.push_back(&group);
      names.insert(group.layer);
    }
    if (groups.size() != root_.layers.size()) {
      RefuseMatch(fmt::format("{}: Layer count mismatch when loading weights from file. Model "
                              "expected {} layers, found {} saved layers.",
                              file_.name(), root_.layers.size(), groups.size()),
                  "the model's layers differ from those of the saved model");
    }
    const bool by_name =
        std::all_of(root_.layers.begin(), root_.layers.end(),
                    [&](const NetLayer& layer) { return names.contains(layer.name); });
    for (size_t i = 0; i < groups.size(); ++i) {
      const NetLayer* layer = &root_.layers[i];
      const KerasLayerWeights* group = groups[i];
      if (by_name) {
        group = *std::find_if(groups.begin(), groups.end(),
                              [&](const KerasLayerWeights* g) { return g->layer == layer->name; });
      }
      if (layer->is_model) {
        OfModel(*layer, *group, i);
      } else {
        OfLayer(*layer, group->layer, group->weights, i);
      }
    }
  }

  // The weights of a nested model: each belongs to the layer that its name begins with, in an order
  // that depends on what was trainable when it was saved.
  void OfModel(const NetLayer& model, const KerasLayerWeights& group, size_t number) {
    std::vector<const NetLayer*> leaves;
    Flatten(model, leaves);
    std::map<std::string, std::vector<KerasWeight>> by_layer;
    for (const KerasWeight& weight : group.weights) {
      by_layer[LayerOf(WithoutOutput(weight.name()))].push_back(weight);
    }
    const bool by_name = std::all_of(leaves.begin(), leaves.end(), [&](const NetLayer* leaf) {
      return by_layer.contains(leaf->name);
    });
    if (by_name && by_layer.size() == leaves.size()) {
      for (const NetLayer* leaf : leaves) OfLayer(*leaf, leaf->name, by_layer[leaf->name], number);
      return;
    }
    InOrder(leaves, group, number);
  }

  // Without names that are known: the order of a frozen model, layer by layer, or that of one which
  // trained, statistics last, if the shapes say which.
  void InOrder(const std::vector<const NetLayer*>& leaves, const KerasLayerWeights& group,
               size_t number) {
    std::vector<const Variable*> frozen;
    std::vector<const Variable*> trained;
    std::vector<const Variable*> last;
    for (const NetLayer* leaf : leaves) {
      for (const Variable* variable : leaf->variables) {
        frozen.push_back(variable);
        const bool is_statistic = variable->name.find("/moving_") != std::string::npos;
        (is_statistic ? last : trained).push_back(variable);
      }
    }
    trained.insert(trained.end(), last.begin(), last.end());
    CheckCount(frozen.size(), group.layer, group.weights.size(), group.layer, number);
    const auto fits = [&](const std::vector<const Variable*>& order) {
      for (size_t i = 0; i < order.size(); ++i) {
        if (order[i]->shape != group.weights[i].shape()) return false;
      }
      return true;
    };
    const bool fits_frozen = fits(frozen);
    const bool fits_trained = fits(trained);
    if (fits_frozen == fits_trained && frozen != trained) {
      RefuseMatch(fmt::format("{}: the names of the weights of '{}' do not match its layers",
                              file_.name(), group.layer),
                  "save them with the names of the layers here");
    }
    const auto& order = fits_trained ? trained : frozen;
    for (size_t i = 0; i < order.size(); ++i) Match(*order[i], group.weights[i]);
  }

  // ---- weights by object ------------------------------------------------------------------------

  // Gives objects the names of the configuration's layers: the k-th of a class is the k-th there.
  static void NameObjects(const KerasJson& model, KerasObject& objects) {
    const auto config = model.find("config");
    if (config == model.end() || !config->is_object() || !config->contains("layers")) return;
    std::map<std::string, size_t> counts;
    for (const KerasJson& layer : config->at("layers")) {
      if (!layer.is_object() || !layer.contains("class_name")) continue;
      const KerasJson& class_name = layer.at("class_name");
      const auto options = layer.find("config");
      if (!class_name.is_string() || options == layer.end() || !options->is_object()) continue;
      const std::string type = KerasSnakeCase(class_name.get<std::string>());
      const auto found = objects.layers.find(type);
      const size_t k = counts[type]++;
      if (found == objects.layers.end() || k >= found->second.size()) continue;
      KerasObject& object = found->second[k];
      const auto name = options->find("name");
      if (name != options->end() && name->is_string()) object.name = name->get<std::string>();
      NameObjects(layer, object);
    }
  }

  static bool HasWeights(const KerasObject& object) {
    if (!object.weights.empty()) return true;
    for (const auto& [type, objects] : object.layers) {
      if (std::any_of(objects.begin(), objects.end(), HasWeights)) return true;
    }
    return false;
  }

  static bool IsModelType(std::string_view type) {
    return type == "functional" || type == "sequential" || type == "model";
  }

  void ByObject(const NetLayer& model, const KerasObject& objects) {
    std::vector<const KerasObject*> models;
    std::map<std::string, std::vector<const KerasObject*>> by_type;
    for (const auto& [type, of_type] : objects.layers) {
      if (IsLearnedBeside(type)) continue;
      for (const KerasObject& object : of_type) {
        if (HasWeights(object)) (IsModelType(type) ? models : by_type[type]).push_back(&object);
      }
    }
    std::map<std::string, size_t> taken;
    for (const NetLayer& given : model.layers) {
      const NetLayer& layer = IsAlone(given, models) ? given.layers.front() : given;
      const auto& candidates = layer.is_model ? models : by_type[layer.type];
      const size_t k = taken[layer.is_model ? "" : layer.type]++;
      const KerasObject& object = Candidate(layer, candidates, k);
      if (layer.is_model) {
        ByObject(layer, object);
      } else {
        OfLayer(layer, object.path, object.weights, k);
      }
    }
    size_t saved = models.size();
    for (const auto& [type, of_type] : by_type) saved += of_type.size();
    if (saved == model.layers.size()) return;
    RefuseMatch(fmt::format("{}: the model has {} layers with weights{}, but the file has {}",
                            file_.name(), model.layers.size(),
                            model.name.empty() ? "" : " in '" + model.name + "'", saved));
  }

  // Whether the model is no other than its one layer, as one that is called with training=False is
  // in a job, and not a model of the file's.
  static bool IsAlone(const NetLayer& layer, const std::vector<const KerasObject*>& models) {
    if (!layer.is_model || layer.layers.size() != 1 || layer.layers.front().is_model) return false;
    return layer.layers.front().name == layer.name &&
           std::none_of(models.begin(), models.end(),
                        [&](const KerasObject* object) { return object->name == layer.name; });
  }

  const KerasObject& Candidate(const NetLayer& layer,
                               const std::vector<const KerasObject*>& candidates, size_t k) const {
    for (const KerasObject* candidate : candidates) {
      if (!candidate->name.empty() && candidate->name == layer.name) return *candidate;
    }
    if (k < candidates.size()) return *candidates[k];
    RefuseMatch(fmt::format("{}: has no weights for layer '{}'", file_.name(), layer.name),
                layer.is_model ? ""
                               : fmt::format("the file has {} of its class, {}", candidates.size(),
                                             layer.type));
  }

  // ---- both
  // ---------------------------------------------------------------------------------------

  void CheckCount(size_t expected, const std::string& layer, size_t given, const std::string& saved,
                  size_t number) const {
    if (expected == given) return;
    RefuseMatch(
        fmt::format("{}: Weight count mismatch for layer #{} (named {} in the current "
                    "model, {} in the save file). Layer expects {} weight(s). Received {} "
                    "saved weight(s)",
                    file_.name(), number, layer, saved, expected, given));
  }

  void OfLayer(const NetLayer& layer, const std::string& saved,
               const std::vector<KerasWeight>& weights, size_t number) {
    CheckCount(layer.variables.size(), layer.name, weights.size(), saved, number);
    for (size_t i = 0; i < weights.size(); ++i) Match(*layer.variables[i], weights[i]);
  }

  void Match(const Variable& variable, const KerasWeight& weight) {
    if (weight.shape() != variable.shape) {
      RefuseMatch(fmt::format("{}: is {}, but \"{}\" is {} in the model", weight.place(),
                              weight.shape().Text(), variable.name, variable.shape.Text()),
                  "the model's layers differ from those of the saved model");
    }
    matches_.push_back({&variable, weight});
  }

  const KerasFile& file_;
  const NetLayer& root_;
  std::vector<KerasMatch> matches_;
};

// The weight as the variable's value.
Tensor ValueOf(const KerasWeight& weight, const std::string& variable, DType dtype) {
  Tensor value = weight.Read();
  if (value.dtype() == dtype) return value;
  const bool counts = dtype == DType::kInt64 && value.dtype() == DType::kInt32;
  if (!counts) {
    RefuseMatch(fmt::format("{}: is {}, but \"{}\" is {} in the model", weight.place(),
                            NameOf(value.dtype()), variable, NameOf(dtype)));
  }
  Tensor wide(DType::kInt64, value.shape());
  for (int64_t i = 0; i < value.shape().elements(); ++i) {
    wide.data<int64_t>()[i] = value.data<int32_t>()[i];
  }
  return wide;
}

}  // namespace

KerasWeightReaders MatchKerasWeights(const std::string& path, const KerasTarget& target) {
  const KerasFile file = KerasFile::Open(path);
  const NetLayer root = NetReader(target).Read();
  KerasWeightReaders readers;
  for (const KerasMatch& match : Matcher(file, root).Run()) {
    readers.emplace(match.variable->name,
                    [weight = match.weight, name = match.variable->name,
                     dtype = match.variable->dtype] { return ValueOf(weight, name, dtype); });
  }
  return readers;
}

}  // namespace tpuest
