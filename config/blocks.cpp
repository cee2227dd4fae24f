#include "config/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "config/formula/expression.h"
#include "config/scalars.h"
#include "config/substitute.h"
#include "config/yaml_reader.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

constexpr size_t kMostLayers = 20000;
constexpr int64_t kMostTimes = 10000;
constexpr int kMostNested = 32;  // blocks in blocks

constexpr std::string_view kIf = "if";
constexpr std::string_view kRepeat = "repeat";
constexpr std::string_view kLabel = "as";
constexpr std::string_view kBlock = "block";
constexpr std::string_view kInput = "input";
constexpr std::string_view kRequired = "required";

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

// A fault that ends the expansion of an item: its place is known.
struct Refused {
  Fault fault;
};

[[noreturn]] void Refuse(const Node& node, std::string message, std::string hint = "") {
  const bool has_text = node.width > 0;
  throw Refused{{std::move(message), std::move(hint), "", has_text ? node.place : node.key_place,
                 has_text ? node.width : node.key_width}};
}
[[noreturn]] void RefuseKey(const Node& node, std::string message, std::string hint = "") {
  throw Refused{{std::move(message), std::move(hint), "", node.key_place, node.key_width}};
}

// The blocks and the values that an item's formulas and names are about.
struct Scope {
  Parameters parameters;
  Parameters of_model;  // those of the model, which its blocks see
  std::map<std::string, const Node*, std::less<>> blocks;
  // Names of inputs, and labels of layers of the same list: "@12", the layer of that number.
  std::map<std::string, std::string, std::less<>> names;
  // What the first layer takes that names no inputs; nullptr: the layer before.
  const Node* first_inputs = nullptr;
};

class BlockWriter {
 public:
  BlockWriter(const Tree& job, const FindModelFile& find, Sources& sources, Faults& faults)
      : job_(job), find_(find), sources_(sources), faults_(faults) {}

  // The model with its layers written out.
  void Model(Node& model) {
    const Node* const type = model.Find("type");
    const auto file = type == nullptr ? std::nullopt : find_(type->text);
    Guarded([&] {
      if (file) {
        model = FromFile(model, *type, *file, KeysOfModels(), Scope());
        model.Find("type")->text = "Functional";
        return;
      }
      Scope scope;
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

  // ---- formulas ---------------------------------------------------------------------------------

  Literal Value(std::string_view formula, size_t offset, const Node& node,
                const Scope& scope) const {
    try {
      return Evaluate(formula, scope.parameters);
    } catch (const FormulaError& error) {
      // Quotes take a column that the text does not have.
      const auto column = static_cast<int>(offset + error.at + (node.quoted ? 1 : 0));
      Place place = node.place;
      place.column += column;
      throw Refused{{error.message, error.hint, "", place, static_cast<int>(error.width)}};
    }
  }

  // The scalar with its formulas put in. Variables of the job stay.
  Node Scalar(const Node& node, const Scope& scope) const {
    const std::string_view text = node.text;
    if (text.find("${") == std::string_view::npos) return node;
    std::string put;
    bool changed = false;
    size_t at = 0;
    while (at < text.size()) {
      const size_t begin = text.find("${", at);
      put += text.substr(at, begin - at);
      if (begin == std::string_view::npos) break;
      const size_t end = FormulaEnd(text, begin + 2);
      if (end == std::string_view::npos) Refuse(node, "'${' has no '}'");
      const std::string_view inside = text.substr(begin + 2, end - begin - 2);
      const bool is_escaped = begin > 0 && text[begin - 1] == '$';
      at = end + 1;
      if (is_escaped || IsVariable(inside, scope.parameters)) {
        put += text.substr(begin, at - begin);
        continue;
      }
      const Literal value = Value(inside, begin + 2, node, scope);
      if (begin == 0 && at == text.size()) return NodeOf(value, node);
      put += TextOf(value);
      changed = true;
    }
    Node copy = node;
    copy.text = std::move(put);
    copy.quoted = node.quoted || changed;
    return copy;
  }

  // The node with all formulas put in, but for those of layers that it holds.
  Node Filled(const Node& node, const Scope& scope) const {
    if (node.kind == Node::Kind::kScalar) return Scalar(node, scope);
    Node copy = node;
    for (Node& child : copy.children) child = Filled(child, scope);
    return copy;
  }

  // The value of a formula that may stand without ${}: "stride > 1".
  Literal Formula(const Node& node, const Scope& scope) const {
    if (node.kind != Node::Kind::kScalar) return LiteralOf(Filled(node, scope));
    if (node.text.find("${") == std::string::npos) return Value(node.text, 0, node, scope);
    return LiteralOf(Scalar(node, scope));
  }

  // The value of a node without formulas; the job's variables are put in.
  Literal LiteralOf(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::kNull:
        return {};
      case Node::Kind::kMap:
        Refuse(node, fmt::format("{}: expected a value or a list, found a section", node.key));
      case Node::Kind::kList: {
        Literals list;
        for (const Node& child : node.children) list.push_back(LiteralOf(child));
        return {std::move(list)};
      }
      case Node::Kind::kScalar:
        break;
    }
    const Substituted text = Substitute(job_, node.text);
    if (text.fault) Refuse(node, *text.fault, text.hint);
    if (node.quoted && !text.changed) return {text.text};
    if (text.text == "true" || text.text == "false") return {text.text == "true"};
    if (IsNullText(text.text)) return {};
    if (const auto integer = ParseInteger(text.text)) {
      const auto magnitude = static_cast<int64_t>(integer->magnitude);
      return {integer->negative ? -magnitude : magnitude};
    }
    if (const auto number = ParseNumber(text.text)) return {*number};
    return {text.text};
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

  // Takes a model's `parameters` into the scope; what else it says may hold them, too.
  void TakeParameters(Node& model, Scope& scope) {
    const Node* const parameters = Take(model, "parameters");
    if (parameters == nullptr) return;
    Bind(parameters, {}, "the model", Scope(), model, scope);
    scope.of_model = scope.parameters;
    for (Node& child : model.children) {
      if (child.key != "layers" && child.key != "blocks") child = Filled(child, scope);
    }
  }

  // Takes `blocks` out of a section into the scope.
  void TakeBlocks(Node& section, Scope& scope) {
    if (const Node* const blocks = Take(section, "blocks")) AddBlocks(*blocks, scope);
  }
  void AddBlocks(const Node& blocks, Scope& scope) {
    if (blocks.kind != Node::Kind::kMap) {
      RefuseKey(blocks, "blocks: expected sections by name", "blocks: {NAME: {layers: [...]}}");
    }
    for (const Node& block : blocks.children) {
      CheckBlock(block);
      scope.blocks.insert_or_assign(block.key, &block);
    }
  }
  static void CheckBlock(const Node& block) {
    for (const Node& child : block.children) {
      if (child.key == "parameters" || child.key == "layers") continue;
      RefuseKey(child, fmt::format("unknown key '{}' in block '{}'", child.key, block.key),
                "known here: parameters, layers");
    }
    if (block.Find("layers") == nullptr) {
      RefuseKey(block, fmt::format("block '{}' has no layers", block.key), "layers: [...]");
    }
  }

  // The list with its items written out; its own layers count from 0.
  Node List(const Node& list, const Scope& scope) {
    if (list.kind != Node::Kind::kList) return list;
    std::vector<Node> outer = std::exchange(layers_, {});
    Scope inner = scope;
    Items(list, inner);
    Node written = list;
    written.children = std::exchange(layers_, std::move(outer));
    return written;
  }

  void Items(const Node& list, Scope& scope) {
    for (const Node& item : list.children) {
      Guarded([&] { Repeated(item, scope); });
    }
  }

  void Repeated(const Node& item, Scope& scope) {
    const Node* const repeat = item.kind == Node::Kind::kMap ? item.Find(kRepeat) : nullptr;
    if (repeat == nullptr) return Once(item, scope);
    const bool has_sections = repeat->kind == Node::Kind::kList && !repeat->children.empty() &&
                              repeat->children.front().kind == Node::Kind::kMap;
    const int64_t times =
        has_sections ? static_cast<int64_t>(repeat->children.size()) : TimesOf(*repeat, scope);
    for (int64_t i = 0; i < times; ++i) {
      Scope round = scope;
      round.parameters.insert_or_assign("i", Literal{i});
      const Node* const section =
          has_sections ? &repeat->children[static_cast<size_t>(i)] : nullptr;
      if (section != nullptr) {
        for (const Node& value : section->children) {
          round.parameters.insert_or_assign(value.key, LiteralOf(Filled(value, scope)));
        }
        CheckUsed(*section, item, scope);
      }
      Once(item, round, section);
      scope.names = std::move(round.names);
      scope.first_inputs = round.first_inputs;
    }
  }

  [[nodiscard]] int64_t TimesOf(const Node& repeat, const Scope& scope) const {
    const Literal value = Formula(repeat, scope);
    const auto* const times = std::get_if<int64_t>(&value.value);
    if (times != nullptr && *times >= 0 && *times <= kMostTimes) return *times;
    Refuse(repeat,
           fmt::format("repeat is {}, expected an integer from 0 to {}", TextOf(value), kMostTimes),
           "or a list of sections: [{filters: 16}, {filters: 32}]");
  }

  // Refuses a parameter of a repeated section that changes nothing: the item names it in no text,
  // and its block has none of that name.
  void CheckUsed(const Node& section, const Node& item, const Scope& scope) const {
    const Node* const block = item.Find(kBlock);
    const Node* const parameters = block == nullptr ? nullptr : ParametersOf(*block, scope);
    std::vector<std::string> names;
    if (parameters != nullptr) {
      for (const Node& parameter : parameters->children) names.push_back(parameter.key);
    }
    for (const Node& value : section.children) {
      if (std::find(names.begin(), names.end(), value.key) != names.end()) continue;
      const bool is_named = std::any_of(
          item.children.begin(), item.children.end(),
          [&](const Node& child) { return child.key != kRepeat && HasWord(child, value.key); });
      if (is_named) continue;
      const std::string hint = names.empty()
                                   ? fmt::format("KEY: ${{{}}} in the item takes it", value.key)
                                   : "its block has: " + Join(names, ", ");
      RefuseKey(value, fmt::format("repeat gives '{}', which the item does not use", value.key),
                hint);
    }
  }

  // The parameters of the block of this name; nullptr: there is no such block, or it has none.
  static const Node* ParametersOf(const Node& block_name, const Scope& scope) {
    const auto found = scope.blocks.find(block_name.text);
    return found == scope.blocks.end() ? nullptr : found->second->Find("parameters");
  }

  // `section`: what a repeat gives this time, or null.
  void Once(const Node& item, Scope& scope, const Node* section = nullptr) {
    if (item.kind != Node::Kind::kMap) {
      Add(Filled(item, scope));
      return;
    }
    const Node* const condition = item.Find(kIf);
    if (condition != nullptr && !IsTrue(Formula(*condition, scope))) return;
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
    if (layers_.empty()) Refuse(*label, "there is no layer that this could name");
    scope.names.insert_or_assign(LabelOf(*label, scope), fmt::format("@{}", layers_.size() - 1));
  }

  [[nodiscard]] std::string LabelOf(const Node& label, const Scope& scope) const {
    const Node filled = Filled(label, scope);
    if (filled.kind == Node::Kind::kScalar && !filled.text.empty()) return filled.text;
    Refuse(label, "as: expected a name");
  }

  void Add(Node layer) {
    if (layers_.size() >= kMostLayers) {
      Refuse(layer, fmt::format("a model has at most {} layers", kMostLayers));
    }
    layers_.push_back(std::move(layer));
  }

  // The item without the keys that are gone when it is written out.
  static Node Plain(const Node& item) {
    Node plain = item;
    std::erase_if(plain.children, [](const Node& child) {
      return child.key == kIf || child.key == kRepeat || child.key == kLabel;
    });
    return plain;
  }

  // A layer with its formulas put in; a model that is a layer has layers of its own.
  Node Layer(Node layer, const Scope& scope) {
    Scope inner = scope;
    inner.names.clear();
    inner.first_inputs = nullptr;
    if (layer.Find("layers") != nullptr) TakeBlocks(layer, inner);
    for (Node& child : layer.children) {
      child = child.key == "layers" ? List(child, inner) : Filled(child, scope);
    }
    return layer;
  }

  // The layer with what its inputs' names stand for, or with those of the block that it begins.
  Node WithInputs(Node layer, Scope& scope) const {
    Node* const inputs = layer.Find("inputs");
    if (inputs != nullptr) {
      Resolve(*inputs, scope);
    } else if (scope.first_inputs != nullptr) {
      layer.children.push_back(*scope.first_inputs);
    }
    scope.first_inputs = nullptr;
    return layer;
  }

  void Resolve(Node& inputs, const Scope& scope) const {
    if (inputs.kind == Node::Kind::kScalar) {
      const auto found = scope.names.find(inputs.text);
      if (found == scope.names.end()) return;
      inputs.text = found->second;
      inputs.quoted = true;
    }
    for (Node& child : inputs.children) Resolve(child, scope);
  }

  // ---- blocks -----------------------------------------------------------------------------------

  void Use(const Node& item, const Node& block_name, Scope& scope, const Node* section) {
    const auto found = scope.blocks.find(block_name.text);
    if (found == scope.blocks.end()) {
      std::vector<std::string> names;
      for (const auto& [name, block] : scope.blocks) names.push_back(name);
      const auto near = Nearest(block_name.text, names);
      Refuse(block_name, fmt::format("there is no block '{}'", block_name.text),
             near            ? fmt::format("did you mean '{}'?", *near)
             : names.empty() ? "blocks: {NAME: {layers: [...]}}"
                             : "there are: " + Join(names, ", "));
    }
    if (++depth_ > kMostNested) {
      Refuse(block_name, fmt::format("block '{}' uses itself", block_name.text));
    }
    Scope inner;
    inner.blocks = scope.blocks;
    inner.of_model = scope.of_model;
    inner.parameters = scope.of_model;
    const Node* const parameters = found->second->Find("parameters");
    if (parameters != nullptr) {
      for (const Node& own : parameters->children) inner.parameters.erase(own.key);
    }
    const Node* given = nullptr;
    Node inputs;
    std::vector<const Node*> arguments;
    for (const Node& child : item.children) {
      const bool is_ours =
          child.key == kIf || child.key == kRepeat || child.key == kLabel || child.key == kBlock;
      if (child.key == "inputs") {
        inputs = Filled(child, scope);
        Resolve(inputs, scope);
        given = &inputs;
      } else if (!is_ours) {
        arguments.push_back(&child);
      }
    }
    AddFromSection(section, parameters, arguments);
    const Node& block = *found->second;
    Bind(parameters, arguments, fmt::format("block '{}'", block.key), scope, item, inner);
    if (given == nullptr) given = scope.first_inputs;
    NameInputs(given, inner);
    const size_t before = layers_.size();
    Items(*block.Find("layers"), inner);
    if (layers_.size() > before) scope.first_inputs = nullptr;
    --depth_;
  }

  // What a repeat's section says of a block's parameters, unless the item itself says it.
  static void AddFromSection(const Node* section, const Node* parameters,
                             std::vector<const Node*>& arguments) {
    if (section == nullptr || parameters == nullptr) return;
    for (const Node& value : section->children) {
      const bool is_given =
          std::any_of(arguments.begin(), arguments.end(),
                      [&](const Node* argument) { return argument->key == value.key; });
      if (!is_given && parameters->Find(value.key) != nullptr) arguments.push_back(&value);
    }
  }

  // The names by which a block's layers know its inputs.
  void NameInputs(const Node* inputs, Scope& inner) {
    if (inputs == nullptr) {
      inner.names.emplace(kInput,
                          layers_.empty() ? kInput : fmt::format("@{}", layers_.size() - 1));
      return;
    }
    if (inputs->kind == Node::Kind::kMap) {
      for (const Node& child : inputs->children) inner.names.emplace(child.key, child.text);
      return;
    }
    if (inputs->kind == Node::Kind::kList) {
      for (size_t i = 0; i < inputs->children.size(); ++i) {
        inner.names.emplace(fmt::format("{}_{}", kInput, i), inputs->children[i].text);
      }
    } else {
      inner.names.emplace(kInput, inputs->text);
    }
    kept_.push_back(std::make_unique<Node>(*inputs));
    inner.first_inputs = kept_.back().get();
  }

  // Puts the arguments, whose formulas the caller's scope gives, and the defaults of all others
  // into `inner`.
  void Bind(const Node* parameters, const std::vector<const Node*>& arguments,
            const std::string& whose, const Scope& caller, const Node& use, Scope& inner) const {
    std::vector<std::string> names;
    if (parameters != nullptr) {
      for (const Node& parameter : parameters->children) names.push_back(parameter.key);
    }
    for (const Node* const argument : arguments) {
      if (std::find(names.begin(), names.end(), argument->key) == names.end()) {
        const auto near = Nearest(argument->key, names);
        RefuseKey(*argument, fmt::format("{} has no parameter '{}'", whose, argument->key),
                  near            ? fmt::format("did you mean '{}'?", *near)
                  : names.empty() ? "it has none"
                                  : "it has: " + Join(names, ", "));
      }
      inner.parameters.insert_or_assign(argument->key, LiteralOf(Filled(*argument, caller)));
    }
    if (parameters == nullptr) return;
    for (const Node& parameter : parameters->children) {
      if (inner.parameters.contains(parameter.key)) continue;
      if (parameter.text == kRequired) {
        const Node* const named = use.Find(kBlock) != nullptr ? use.Find(kBlock) : use.Find("type");
        Refuse(named != nullptr ? *named : use, fmt::format("{} needs '{}'", whose, parameter.key));
      }
      inner.parameters.emplace(parameter.key, LiteralOf(Filled(parameter, inner)));
    }
  }

  // ---- model files ------------------------------------------------------------------------------

  // The section that a `type` of a file stands for, with its own keys and the file's layers.
  Node FromFile(const Node& section, const Node& type, const ModelFile& file,
                const std::set<std::string, std::less<>>& own_keys, const Scope& scope) {
    if (++depth_ > kMostNested) Refuse(type, fmt::format("'{}' is made of itself", type.text));
    kept_.push_back(std::make_unique<Node>(
        ParseYaml(file.text, file.file, {Origin::Kind::kBaseFile, ""}, sources_, faults_)));
    Node& model = *kept_.back();
    Node written = section;
    written.children.clear();
    Scope inner;
    std::vector<const Node*> arguments;
    for (const Node& child : section.children) {
      if (child.key == "type" || own_keys.contains(child.key)) {
        written.children.push_back(Filled(child, scope));
      } else {
        arguments.push_back(&child);
      }
    }
    if (const Node* const preset = model.Find("models")->Find(type.text)) {
      for (const Node& value : preset->children) {
        inner.parameters.insert_or_assign(value.key, LiteralOf(value));
      }
    }
    Bind(model.Find("parameters"), arguments, type.text, scope, section, inner);
    inner.of_model = inner.parameters;
    if (const Node* const blocks = model.Find("blocks")) AddBlocks(*blocks, inner);
    Node layers = List(*model.Find("layers"), inner);
    written.children.push_back(std::move(layers));
    const Node* const head = model.Find("head");
    if (head != nullptr && own_keys.contains("head") && section.Find("head") == nullptr) {
      written.children.push_back(Filled(*head, inner));
    }
    --depth_;
    return written;
  }

  const Tree& job_;
  const FindModelFile& find_;
  Sources& sources_;
  Faults& faults_;
  std::vector<Node> layers_;                 // of the list that is being written
  std::vector<std::unique_ptr<Node>> kept_;  // nodes that scopes point into
  int depth_ = 0;
};

}  // namespace

std::vector<std::string> ParameterPaths(const Tree& job, const FindModelFile& find) {
  const Node* const model = job.root.Find("model");
  const Node* const type = model == nullptr ? nullptr : model->Find("type");
  if (!find || type == nullptr) return {};
  Sources sources;
  Faults faults;
  Node file;
  const Node* parameters = model->Find("parameters");
  std::string prefix = "model.parameters.";
  if (const auto found = find(type->text)) {
    file = ParseYaml(found->text, found->file, {Origin::Kind::kBaseFile, ""}, sources, faults);
    parameters = file.Find("parameters");
    prefix = "model.";
  }
  std::vector<std::string> paths;
  if (parameters == nullptr) return paths;
  for (const Node& parameter : parameters->children) paths.push_back(prefix + parameter.key);
  return paths;
}

void ExpandModel(Tree& job, const FindModelFile& find, Sources& sources, Faults& faults) {
  Node* const model = job.root.Find("model");
  if (model == nullptr || model->kind != Node::Kind::kMap) return;
  Node written = *model;
  BlockWriter(job, find, sources, faults).Model(written);
  *model = std::move(written);
}

}  // namespace tpuest::config
