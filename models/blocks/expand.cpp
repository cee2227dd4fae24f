#include "models/blocks/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "config/yaml_reader.h"
#include "core/base/text.h"
#include "models/blocks/block_scope.h"

namespace tpuest::models {
namespace {

constexpr size_t kMostLayers = 20000;
constexpr int64_t kMostTimes = 10000;
constexpr int kMostNested = 32;  // blocks in blocks

// Keys of a section that names a model file which are no parameters of it: a model's, or a layer's.
const std::set<std::string, std::less<>>& KeysOfModels() {
  static const std::set<std::string, std::less<>> kKeys = {
      "head",    "metrics", "l2_weight_decay", "trainable", "precision",
      "outputs", "weights", "input_shape",     "optimizer"};
  return kKeys;
}
const std::set<std::string, std::less<>>& KeysOfLayers() {
  static const std::set<std::string, std::less<>> kKeys = {
      "name", "inputs", "trainable", "training", "outputs", "input_shape", "weights"};
  return kKeys;
}

// The rounds of an item's `repeat`, each with its parameters.
class Rounds {
 public:
  // `repeat` outlives this object. Throws Refused if it is neither a number nor a list of sections.
  Rounds(const Node& repeat, const Parameters& parameters, const BlockFormulas& formulas)
      : repeat_(repeat), formulas_(formulas) {
    has_sections_ = repeat.kind == Node::Kind::kList && !repeat.children.empty() &&
                    repeat.children.front().kind == Node::Kind::kMap;
    count_ = has_sections_ ? static_cast<int64_t>(repeat.children.size()) : TimesOf(parameters);
  }

  [[nodiscard]] int64_t count() const { return count_; }

  // Returns the section of a round; nullptr if `repeat` is a number.
  [[nodiscard]] const Node* Section(int64_t round) const {
    return has_sections_ ? &repeat_.children[static_cast<size_t>(round)] : nullptr;
  }

  // Returns the parameters in a round: those outside, the round's number `i`, and its section.
  [[nodiscard]] Parameters ParametersOf(int64_t round, const Parameters& outside) const {
    Parameters parameters = outside;
    parameters.insert_or_assign("i", Literal{round});
    const Node* const section = Section(round);
    if (section == nullptr) return parameters;
    for (const Node& value : section->children) {
      parameters.insert_or_assign(value.key, formulas_.ValueOf(value, outside));
    }
    return parameters;
  }

 private:
  [[nodiscard]] int64_t TimesOf(const Parameters& parameters) const {
    const Literal value = formulas_.Formula(repeat_, parameters);
    const auto* const times = std::get_if<int64_t>(&value.value);
    if (times != nullptr && *times >= 0 && *times <= kMostTimes) return *times;
    Refuse(repeat_,
           fmt::format("repeat is {}, expected an integer from 0 to {}", TextOf(value), kMostTimes),
           "write an integer, or a list of sections: [{filters: 16}, {filters: 32}]");
  }

  const Node& repeat_;
  const BlockFormulas& formulas_;
  bool has_sections_ = false;
  int64_t count_ = 0;
};

// Returns true if a text in the node or below it has the word.
bool HasWord(const Node& node, std::string_view word) {
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::string_view text = node.text;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !is_letter(text[at - 1]);
    if (begins && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const Node& child) { return HasWord(child, word); });
}

// Refuses a parameter of a repeated section that changes nothing: no text of the item names it, and
// the item's block does not declare it.
void CheckUsed(const Node& section, const Node& item, const BlockScope& scope) {
  const Node* const block = item.Find(kBlock);
  const std::vector<std::string> names =
      block == nullptr ? std::vector<std::string>() : scope.DeclaredBy(block->text).Names();
  for (const Node& value : section.children) {
    if (std::find(names.begin(), names.end(), value.key) != names.end()) continue;
    const bool is_named = std::any_of(
        item.children.begin(), item.children.end(),
        [&](const Node& child) { return child.key != kRepeat && HasWord(child, value.key); });
    if (is_named) continue;
    const std::string hint = names.empty()
                                 ? fmt::format("use it in the item: KEY: ${{{}}}", value.key)
                                 : "parameters of its block: " + Join(names, ", ");
    RefuseKey(value, fmt::format("repeat gives '{}', which the item does not use", value.key),
              hint);
  }
}

// True for a key that says whether, how often and under which label an item is written.
bool IsOfItem(std::string_view key) { return key == kIf || key == kRepeat || key == kLabel; }

// Returns the arguments that an item gives to its block: its own keys, then the declared parameters
// in the section of its repeat (nullptr: no section).
std::vector<const Node*> ArgumentsOf(const Node& item, const Node* section,
                                     const DeclaredParameters& declared) {
  std::vector<const Node*> arguments;
  for (const Node& child : item.children) {
    if (!IsOfItem(child.key) && child.key != kBlock && child.key != "inputs") {
      arguments.push_back(&child);
    }
  }
  if (section == nullptr) return arguments;
  const std::vector<std::string> names = declared.Names();
  for (const Node& value : section->children) {
    const bool is_given =
        std::any_of(arguments.begin(), arguments.end(),
                    [&](const Node* argument) { return argument->key == value.key; });
    const bool is_declared = std::find(names.begin(), names.end(), value.key) != names.end();
    if (!is_given && is_declared) arguments.push_back(&value);
  }
  return arguments;
}

// Writes out a model's blocks, repetitions and conditions, list by list.
class BlockWriter {
 public:
  BlockWriter(const Tree& job, const ModelFinder& find, config::Sources& sources, Faults& faults)
      : find_(find), sources_(sources), faults_(faults), formulas_(job) {}

  // The model with its layers written out.
  void Model(Node& model) {
    const Node* const type = model.Find("type");
    const auto file = type == nullptr ? std::nullopt : find_(type->text);
    Guarded([&] {
      if (file) {
        model = FromFile(model, *type, *file, KeysOfModels(), BlockScope());
        model.Find("type")->text = "Functional";
        return;
      }
      BlockScope scope;
      TakeParameters(model, scope);
      TakeBlocks(model, scope);
      if (Node* const layers = model.Find("layers")) *layers = List(*layers, scope);
    });
  }

 private:
  template <class F>
  void Guarded(F f) {
    const int depth = depth_;
    try {
      f();
    } catch (const Refused& refused) {
      faults_.Add(refused.fault);
      depth_ = depth;
    }
  }

  // ---- lists ------------------------------------------------------------------------------------

  // Takes `key` out of a section; nullptr where it is not there. The node is kept.
  const Node* Take(Node& section, std::string_view key) {
    const auto found = std::find_if(section.children.begin(), section.children.end(),
                                    [&](const Node& child) { return child.key == key; });
    if (found == section.children.end()) return nullptr;
    kept_.push_back(std::make_unique<Node>(std::move(*found)));
    section.children.erase(found);
    return kept_.back().get();
  }

  // Adds a model's `parameters` to the scope and puts them into the model's other keys.
  void TakeParameters(Node& model, BlockScope& scope) {
    const Node* const parameters = Take(model, "parameters");
    if (parameters == nullptr) return;
    const Node* const type = model.Find("type");
    DeclaredParameters(parameters, "the model")
        .Bind({}, {}, type == nullptr ? model : *type, formulas_, scope.parameters);
    scope.of_model = scope.parameters;
    for (Node& child : model.children) {
      const bool has_layers = child.key == "layers" || child.key == "blocks";
      if (!has_layers) child = formulas_.Filled(child, scope.parameters);
    }
  }

  // Takes `blocks` out of a section into the scope.
  void TakeBlocks(Node& section, BlockScope& scope) {
    if (const Node* const blocks = Take(section, "blocks")) scope.AddBlocks(*blocks);
  }

  // The list with its items written out; its own layers count from 0.
  Node List(const Node& list, const BlockScope& scope) {
    if (list.kind != Node::Kind::kList) return list;
    std::vector<Node> outer = std::exchange(layers_, {});
    BlockScope inner = scope;
    Items(list, inner);
    Node written = list;
    written.children = std::exchange(layers_, std::move(outer));
    return written;
  }

  void Items(const Node& list, BlockScope& scope) {
    for (const Node& item : list.children) {
      Guarded([&] { Repeated(item, scope); });
    }
  }

  void Repeated(const Node& item, BlockScope& scope) {
    const Node* const repeat = item.kind == Node::Kind::kMap ? item.Find(kRepeat) : nullptr;
    if (repeat == nullptr) return Once(item, scope);
    const Rounds rounds(*repeat, scope.parameters, formulas_);
    for (int64_t i = 0; i < rounds.count(); ++i) {
      BlockScope round = scope;
      round.parameters = rounds.ParametersOf(i, scope.parameters);
      const Node* const section = rounds.Section(i);
      if (section != nullptr) CheckUsed(*section, item, scope);
      Once(item, round, section);
      scope.TakeNames(std::move(round));
    }
  }

  // `section`: what a repeat gives this time, or null.
  void Once(const Node& item, BlockScope& scope, const Node* section = nullptr) {
    if (item.kind != Node::Kind::kMap) {
      Add(formulas_.Filled(item, scope.parameters));
      return;
    }
    const Node* const condition = item.Find(kIf);
    if (condition != nullptr && !config::IsTrue(formulas_.Formula(*condition, scope.parameters)))
      return;
    const Node* const label = item.Find(kLabel);
    const Node* const block = item.Find(kBlock);
    const Node* const type = item.Find("type");
    const auto file = type == nullptr ? std::nullopt : find_(type->text);
    if (block != nullptr) {
      Use(item, *block, scope, section);
    } else if (file) {
      Node plain = Plain(item);
      Add(WithInputs(FromFile(plain, *type, *file, KeysOfLayers(), scope), scope));
      layers_.back().Find("type")->text = "functional";
    } else {
      Add(WithInputs(Layer(Plain(item), scope), scope));
    }
    if (label == nullptr) return;
    if (layers_.empty()) Refuse(*label, "no layer precedes this `as`");
    scope.Label(LabelOf(*label, scope), layers_.size() - 1);
  }

  [[nodiscard]] std::string LabelOf(const Node& label, const BlockScope& scope) const {
    const Node filled = formulas_.Filled(label, scope.parameters);
    if (filled.kind == Node::Kind::kScalar && !filled.text.empty()) return filled.text;
    Refuse(label, "`as` is empty; expected a name");
  }

  void Add(Node layer) {
    if (layers_.size() >= kMostLayers) {
      Refuse(layer, fmt::format("a model has at most {} layers", kMostLayers));
    }
    layers_.push_back(std::move(layer));
  }

  // Returns the item without the keys that its layers do not get.
  static Node Plain(const Node& item) {
    Node plain = item;
    std::erase_if(plain.children, [](const Node& child) { return IsOfItem(child.key); });
    return plain;
  }

  // A layer with its formulas put in; a model that is a layer has layers of its own.
  Node Layer(Node layer, const BlockScope& scope) {
    BlockScope inner = scope.InsideModel();
    if (layer.Find("layers") != nullptr) TakeBlocks(layer, inner);
    for (Node& child : layer.children) {
      child =
          child.key == "layers" ? List(child, inner) : formulas_.Filled(child, scope.parameters);
    }
    return layer;
  }

  // The layer with what its inputs' names stand for, or with those of the block that it begins.
  static Node WithInputs(Node layer, BlockScope& scope) {
    if (Node* const inputs = layer.Find("inputs")) {
      scope.Resolve(*inputs);
    } else if (scope.first_inputs() != nullptr) {
      layer.children.push_back(*scope.first_inputs());
    }
    scope.EndFirst();
    return layer;
  }

  // ---- blocks -----------------------------------------------------------------------------------

  void Use(const Node& item, const Node& block_name, BlockScope& scope, const Node* section) {
    const Node& block = scope.Block(block_name);
    if (++depth_ > kMostNested) {
      Refuse(block_name, fmt::format("block '{}' uses itself", block_name.text));
    }
    BlockScope inner = scope.Inside(block);
    std::optional<Node> inputs;
    if (const Node* const given = item.Find("inputs")) {
      inputs = formulas_.Filled(*given, scope.parameters);
      scope.Resolve(*inputs);
    }
    const DeclaredParameters declared = scope.DeclaredBy(block.key);
    declared.Bind(ArgumentsOf(item, section, declared), scope.parameters, block_name, formulas_,
                  inner.parameters);
    inner.NameInputs(inputs ? &*inputs : scope.first_inputs(), layers_.size());
    const size_t before = layers_.size();
    Items(*block.Find("layers"), inner);
    if (layers_.size() > before) scope.EndFirst();
    --depth_;
  }

  // ---- model files ------------------------------------------------------------------------------

  // The section that a `type` of a file stands for, with its own keys and the file's layers.
  Node FromFile(const Node& section, const Node& type, const ModelFile& file,
                const std::set<std::string, std::less<>>& own_keys, const BlockScope& scope) {
    if (++depth_ > kMostNested) Refuse(type, fmt::format("'{}' is made of itself", type.text));
    kept_.push_back(std::make_unique<Node>(config::ParseYaml(file.text, std::string(file.name),
                                                             {config::Origin::Kind::kBaseFile, ""},
                                                             sources_, faults_)));
    Node& model = *kept_.back();
    Node written = section;
    written.children.clear();
    BlockScope inner;
    std::vector<const Node*> arguments;
    for (const Node& child : section.children) {
      if (child.key == "type" || own_keys.contains(child.key)) {
        written.children.push_back(formulas_.Filled(child, scope.parameters));
      } else {
        arguments.push_back(&child);
      }
    }
    if (const Node* const preset = model.Find("models")->Find(type.text)) {
      for (const Node& value : preset->children) {
        inner.parameters.insert_or_assign(value.key, formulas_.LiteralOf(value));
      }
    }
    DeclaredParameters(model.Find("parameters"), type.text)
        .Bind(arguments, scope.parameters, type, formulas_, inner.parameters);
    inner.of_model = inner.parameters;
    if (const Node* const blocks = model.Find("blocks")) inner.AddBlocks(*blocks);
    Node layers = List(*model.Find("layers"), inner);
    written.children.push_back(std::move(layers));
    const Node* const head = model.Find("head");
    if (head != nullptr && own_keys.contains("head") && section.Find("head") == nullptr) {
      written.children.push_back(formulas_.Filled(*head, inner.parameters));
    }
    --depth_;
    return written;
  }

  const ModelFinder& find_;
  config::Sources& sources_;
  Faults& faults_;
  const BlockFormulas formulas_;
  std::vector<Node> layers_;                 // of the list that is being written
  std::vector<std::unique_ptr<Node>> kept_;  // nodes that scopes point into
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> ParameterPaths(const Tree& job, const ModelFinder& find) {
  const Node* const model = job.root.Find("model");
  const Node* const type = model == nullptr ? nullptr : model->Find("type");
  if (type == nullptr) return {};
  config::Sources sources;
  Faults faults;
  Node file;
  const Node* parameters = model->Find("parameters");
  std::string prefix = "model.parameters.";
  if (const auto found = find(type->text)) {
    file = config::ParseYaml(found->text, std::string(found->name),
                             {config::Origin::Kind::kBaseFile, ""}, sources, faults);
    parameters = file.Find("parameters");
    prefix = "model.";
  }
  std::vector<std::string> paths;
  if (parameters == nullptr) return paths;
  for (const Node& parameter : parameters->children) paths.push_back(prefix + parameter.key);
  return paths;
}

void ExpandModel(Tree& job, const ModelFinder& find, config::Sources& sources, Faults& faults) {
  Node* const model = job.root.Find("model");
  if (model == nullptr || model->kind != Node::Kind::kMap) return;
  Node written = *model;
  BlockWriter(job, find, sources, faults).Model(written);
  *model = std::move(written);
}

}  // namespace tpuest::models
