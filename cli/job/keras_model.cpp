#include "cli/job/keras_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/substitute.h"
#include "config/yaml_reader.h"
#include "core/base/text.h"
#include "models/keras/config/job.h"

namespace tpuest::cli {
namespace {

using config::Node;

constexpr std::string_view kPath = "keras_model_path";
constexpr std::string_view kWeights = "weights";
constexpr std::string_view kFormat = "checkpoint_format";
constexpr std::string_view kNames = "metric_names_map";
constexpr std::string_view kSampleWeights = "sample_weights";
constexpr std::string_view kKeys =
    "# tf.keras.estimator.model_to_estimator: a model that Keras saved.\n"
    "models:\n"
    "  model_to_estimator: {}\n"
    "parameters:\n"
    "  keras_model_path: required\n"
    "  checkpoint_format: checkpoint\n"
    "  metric_names_map: null\n"
    "  sample_weights: null\n"
    "layers: []\n";

const std::set<std::string, std::less<>> kOfModel = {
    "head", "metrics", "l2_weight_decay", "trainable", "precision", "outputs", "optimizer"};
const std::set<std::string, std::less<>> kOfLayer = {"name",     "inputs",  "trainable",
                                                     "training", "outputs", "as"};

// Removes a section's child and returns it; nullopt if the section lacks it.
std::optional<Node> Taken(Node& section, std::string_view key) {
  const auto found = std::find_if(section.children.begin(), section.children.end(),
                                  [&](const Node& child) { return child.key == key; });
  if (found == section.children.end()) return std::nullopt;
  Node node = std::move(*found);
  section.children.erase(found);
  return node;
}

// Replaces the child of the same key, or appends the child.
void Put(Node& section, Node child) {
  if (Node* const there = section.Find(child.key)) {
    *there = std::move(child);
  } else {
    section.children.push_back(std::move(child));
  }
}

// Returns a scalar under a key, with the place of another node.
Node Scalar(std::string_view key, const std::string& text, const Node& like) {
  Node node = like;
  node.kind = Node::Kind::kScalar;
  node.children.clear();
  node.key = std::string(key);
  node.text = text;
  node.quoted = false;
  return node;
}

bool IsImported(const Node& section) {
  const Node* const type = section.kind == Node::Kind::kMap ? section.Find("type") : nullptr;
  return type != nullptr && type->text == kModelToEstimator;
}

// Renames an input of the model to "input" wherever a layer takes it.
void Rename(Node& inputs, const std::string& name) {
  if (inputs.kind == Node::Kind::kScalar && inputs.text == name) inputs.text = "input";
  for (Node& child : inputs.children) Rename(child, name);
}

class KerasImporter {
 public:
  KerasImporter(config::Tree& job, config::Sources& sources, Faults& faults)
      : job_(job), sources_(sources), faults_(faults) {}

  void Model(Node& model) {
    if (IsImported(model)) {
      Import(model, /*is_layer=*/false);
    } else {
      Layers(model);
    }
  }

 private:
  // Replaces models among layers and in their blocks.
  void Layers(Node& section) {
    if (Node* const layers = section.Find("layers")) {
      for (Node& layer : layers->children) {
        if (IsImported(layer)) {
          Import(layer, /*is_layer=*/true);
        } else if (layer.kind == Node::Kind::kMap) {
          Layers(layer);
        }
      }
    }
    if (Node* const blocks = section.Find("blocks")) {
      for (Node& block : blocks->children) Layers(block);
    }
  }

  void Fault(const Node& node, std::string message, std::string hint) {
    faults_.Add({std::move(message), std::move(hint), "", node.key_place, node.key_width});
  }

  std::string TextOf(const Node& node) {
    const config::Substituted text = config::Substitute(job_, node.text);
    if (text.fault) Fault(node, *text.fault, text.hint);
    return text.text;
  }

  // Returns the path of the file that a node names: relative to the node's own file, or as given on
  // the command line.
  std::string FileOf(const Node& node) {
    const std::string text = TextOf(node);
    const bool is_typed = node.origin.kind == config::Origin::Kind::kOverride;
    return is_typed ? text : config::PathBeside(node.place.file, text);
  }

  bool CheckKeys(const Node& section, bool is_layer) {
    const auto& own = is_layer ? kOfLayer : kOfModel;
    bool known = true;
    for (const Node& child : section.children) {
      const bool is_ours = child.key == "type" || child.key == kPath || child.key == kWeights ||
                           (!is_layer && (child.key == kFormat || child.key == kNames ||
                                          child.key == kSampleWeights));
      if (is_ours || own.contains(child.key)) continue;
      std::vector<std::string> keys = {std::string(kPath), std::string(kWeights)};
      if (!is_layer) {
        keys.insert(keys.end(),
                    {std::string(kFormat), std::string(kNames), std::string(kSampleWeights)});
      }
      keys.insert(keys.end(), own.begin(), own.end());
      const auto near = Nearest(child.key, keys);
      Fault(child, fmt::format("{} has no argument '{}'", kModelToEstimator, child.key),
            near ? fmt::format("did you mean '{}'?", *near) : "arguments: " + Join(keys, ", "));
      known = false;
    }
    return known;
  }

  void Import(Node& section, bool is_layer) {
    if (!CheckKeys(section, is_layer)) return;
    const std::optional<Node> path = Taken(section, kPath);
    if (!path || path->kind != Node::Kind::kScalar) {
      Fault(*section.Find("type"),
            "Either `keras_model` or `keras_model_path` needs to be provided.",
            "keras_model_path: model.keras");
      return;
    }
    const std::string file = FileOf(*path);
    const KerasFile keras = KerasFile::Open(file);
    KerasJob made =
        KerasJobOf(keras, is_layer ? std::map<std::string, std::string>() : NamesOf(section));
    if (!is_layer) {
      CheckCompiled(section, made);
      AddSampleWeights(section, made);
    }
    for (const std::string& note : made.notes) job_.notes.push_back(note);
    Node model = Written(file, made);
    const std::optional<Node> weights = Taken(section, kWeights);
    if (weights && weights->kind == Node::Kind::kScalar) {
      Put(model, *weights);
    } else if (keras.has_weights()) {
      Put(model, Scalar(kWeights, path->text, *path));
    }
    is_layer ? AsLayer(section, model) : AsModel(section, model);
    const Node type = *section.Find("type");
    for (Node& child : section.children) Put(model, std::move(child));
    model.Find("type")->text = is_layer ? "functional" : "Functional";
    section.children = std::move(model.children);
  }

  std::map<std::string, std::string> NamesOf(Node& section) {
    std::map<std::string, std::string> names;
    const std::optional<Node> map = Taken(section, kNames);
    if (!map) return names;
    for (const Node& child : map->children) names.emplace(child.key, TextOf(child));
    return names;
  }

  // Throws if the job has no head or optimizer and the file's cannot be used.
  void CheckCompiled(const Node& section, const KerasJob& made) const {
    std::vector<tpuest::Fault> faults;
    if (section.Find("head") == nullptr) faults = made.head_faults;
    if (section.Find("optimizer") == nullptr && job_.root.Find("optimizer") == nullptr) {
      faults.insert(faults.end(), made.optimizer_faults.begin(), made.optimizer_faults.end());
    }
    if (!faults.empty()) throw Error(Code::kData, std::move(faults));
  }

  // Adds the features that are weights of examples: one for all outputs, a list in their order, or
  // by their names.
  void AddSampleWeights(Node& section, KerasJob& made) {
    const std::optional<Node> given = Taken(section, kSampleWeights);
    if (!given || (given->kind == Node::Kind::kScalar && given->text == "null" && !given->quoted)) {
      return;
    }
    if (made.head.is_null()) {
      return Fault(*given,
                   "sample_weights apply only to the losses that the file was compiled with",
                   "the job's own `head` takes weight_column instead");
    }
    KerasJson& outputs = made.head["outputs"];
    const bool is_one = given->kind == Node::Kind::kScalar;
    if (given->kind == Node::Kind::kList && given->children.size() != outputs.size()) {
      return Fault(*given,
                   fmt::format("the model has {} outputs, but the job gives {} sample_weights",
                               outputs.size(), given->children.size()),
                   "give one per output, or one for all");
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Node* const column = is_one                             ? &*given
                                 : given->kind == Node::Kind::kList ? &given->children[i]
                                                                    : given->Find(made.outputs[i]);
      if (column != nullptr && outputs[i].contains("loss")) {
        outputs[i]["weight_column"] = TextOf(*column);
      }
    }
    for (const Node& child : given->children) {
      const bool known = child.key.empty() || std::find(made.outputs.begin(), made.outputs.end(),
                                                        child.key) != made.outputs.end();
      if (known) continue;
      Fault(child, fmt::format("the model has no output '{}'", child.key),
            "outputs: " + Join(made.outputs, ", "));
    }
  }

  // Returns the file's model as a section; errors show its lines under the file's name.
  Node Written(const std::string& file, const KerasJob& made) {
    std::string text = KerasYaml(made.model, 0);
    if (!made.head.is_null()) text += "head:\n" + KerasYaml(made.head, 2);
    if (!made.optimizer.is_null()) text += "optimizer:\n" + KerasYaml(made.optimizer, 2);
    return config::ParseYaml(text, file, {config::Origin::Kind::kBaseFile, ""}, sources_, faults_);
  }

  void AsModel(Node& section, Node& model) {
    if (section.Find("head") == nullptr && model.Find("head") == nullptr) {
      Fault(*section.Find("type"),
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` before calling `model_to_estimator()`.",
            "or set `head` in this section: head: {type: BinaryClassHead}");
    }
    // The job's own optimizer takes precedence.
    if (job_.root.Find("optimizer") != nullptr) Taken(model, "optimizer");
    // The file's outputs belong to the file's head.
    if (const Node* const head = section.Find("head");
        head != nullptr && section.Find("outputs") == nullptr) {
      const Node* const outputs = model.Find("outputs");
      if (outputs != nullptr && outputs->kind == Node::Kind::kMap) Taken(model, "outputs");
    }
    const std::optional<Node> format = Taken(section, kFormat);
    SetFormat(format ? *format : Scalar(kFormat, "checkpoint", *section.Find("type")));
  }

  // Sets the run's checkpoint_format if the job does not.
  void SetFormat(const Node& format) {
    if (format.text != "checkpoint" && format.text != "saver") {
      Fault(format,
            fmt::format("Checkpoint format must be one of \"checkpoint\" or \"saver\". Got {}",
                        format.text),
            "");
      return;
    }
    Node* config = job_.root.Find("run_config");
    if (config == nullptr) {
      Node section = Scalar("run_config", "", format);
      section.kind = Node::Kind::kMap;
      job_.root.children.push_back(std::move(section));
      config = &job_.root.children.back();
    }
    if (config->Find(kFormat) == nullptr) config->children.push_back(format);
  }

  // Turns the model into a layer: without a head, with its inputs renamed to the names that it
  // uses.
  void AsLayer(Node& section, Node& model) {
    Taken(model, "head");
    Taken(model, "optimizer");
    Taken(model, "precision");
    if (Node* const outputs = model.Find("outputs"); outputs != nullptr) {
      std::vector<Node> names;
      if (outputs->kind == Node::Kind::kScalar) names.push_back(*outputs);
      for (const Node& child : outputs->children) names.push_back(child);
      outputs->kind = Node::Kind::kList;
      outputs->text.clear();
      outputs->children = std::move(names);
      for (Node& name : outputs->children) name.key.clear();
    }
    const std::optional<Node> inputs = Taken(model, "inputs");
    if (!inputs || inputs->children.empty()) return;
    Node* const given = section.Find("inputs");
    if (given != nullptr && given->kind == Node::Kind::kMap) return;
    const size_t count = inputs->children.size();
    if (given != nullptr && given->kind == Node::Kind::kList && given->children.size() == count) {
      for (size_t i = 0; i < count; ++i) given->children[i].key = inputs->children[i].text;
      given->kind = Node::Kind::kMap;
      return;
    }
    if (count > 1) {
      Fault(given == nullptr ? *section.Find("type") : *given,
            fmt::format("this model has {} inputs", count), "inputs: [LAYER, LAYER]");
      return;
    }
    for (Node& layer : model.Find("layers")->children) {
      if (Node* const taken = layer.Find("inputs")) Rename(*taken, inputs->children[0].text);
    }
  }

  config::Tree& job_;
  config::Sources& sources_;
  Faults& faults_;
};

}  // namespace

models::ModelFile KerasModelKeys() { return {.name = "model_to_estimator", .text = kKeys}; }

void ImportKerasModels(config::Tree& job, config::Sources& sources, Faults& faults) {
  Node* const model = job.root.Find("model");
  if (model == nullptr || model->kind != Node::Kind::kMap) return;
  Node imported = *model;
  KerasImporter(job, sources, faults).Model(imported);
  *job.root.Find("model") = std::move(imported);
}

}  // namespace tpuest::cli
