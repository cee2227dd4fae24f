#include "models/blocks/block_scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "config/scalars.h"
#include "config/substitute.h"
#include "core/base/text.h"

namespace tpuest::models {
namespace {

constexpr std::string_view kInput = "input";
constexpr std::string_view kRequired = "required";

// Returns the value of a formula that begins at byte `offset` of the node's text.
Literal FormulaValue(std::string_view formula, size_t offset, const Node& node,
                     const Parameters& parameters) {
  try {
    return config::Evaluate(formula, parameters);
  } catch (const config::FormulaError& error) {
    // Quotes take a column that the text does not have.
    const auto column = static_cast<int>(offset + error.at + (node.quoted ? 1 : 0));
    Place place = node.place;
    place.column += column;
    throw Refused{{error.message, error.hint, "", place, static_cast<int>(error.width)}};
  }
}

// Returns true for a variable of the job: NAME, NAME:-x, params.NAME.
bool IsVariable(std::string_view text, const Parameters& parameters) {
  const size_t end =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");
  const std::string_view name = text.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end);
  const bool is_name = !name.empty() && (name.front() < '0' || name.front() > '9');
  return is_name && (rest.empty() || rest.starts_with(":-")) && !parameters.contains(name);
}

// Returns the position of the } outside quotes that closes the formula starting at `begin`; npos if
// it never closes.
size_t FormulaEnd(std::string_view text, size_t begin) {
  char quote = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '}') {
      return at;
    }
  }
  return std::string_view::npos;
}

// Returns the literal as a node that the reader of a job reads as the same value, at the place of
// `like`.
Node NodeOf(const Literal& literal, const Node& like) {
  Node node = like;
  node.children.clear();
  node.text.clear();
  node.quoted = false;
  if (const auto* const list = std::get_if<config::Literals>(&literal.value)) {
    node.kind = Node::Kind::kList;
    for (const Literal& item : *list) {
      node.children.push_back(NodeOf(item, like));
      node.children.back().key.clear();
    }
    return node;
  }
  node.kind = literal.value.index() == 0 ? Node::Kind::kNull : Node::Kind::kScalar;
  node.text = TextOf(literal);
  node.quoted = std::holds_alternative<std::string>(literal.value);
  return node;
}

void CheckBlock(const Node& block) {
  for (const Node& child : block.children) {
    if (child.key == "parameters" || child.key == "layers") continue;
    RefuseKey(child, fmt::format("unknown key '{}' in block '{}'", child.key, block.key),
              "expected parameters or layers");
  }
  if (block.Find("layers") == nullptr) {
    RefuseKey(block, fmt::format("block '{}' has no layers", block.key), "layers: [...]");
  }
}

// The name that `inputs` use for a layer of the same list.
std::string LayerNumber(size_t layer) { return fmt::format("@{}", layer); }

}  // namespace

void Refuse(const Node& node, std::string message, std::string hint) {
  if (node.width == 0) RefuseKey(node, std::move(message), std::move(hint));
  throw Refused{{std::move(message), std::move(hint), "", node.place, node.width}};
}

void RefuseKey(const Node& node, std::string message, std::string hint) {
  throw Refused{{std::move(message), std::move(hint), "", node.key_place, node.key_width}};
}

// ---- BlockFormulas ------------------------------------------------------------------------------

Node BlockFormulas::FilledScalar(const Node& node, const Parameters& parameters) const {
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
    if (end == std::string_view::npos) Refuse(node, "'${' lacks its '}'");
    const std::string_view inside = text.substr(begin + 2, end - begin - 2);
    const bool is_escaped = begin > 0 && text[begin - 1] == '$';
    at = end + 1;
    if (is_escaped || IsVariable(inside, parameters)) {
      put += text.substr(begin, at - begin);
      continue;
    }
    const Literal value = FormulaValue(inside, begin + 2, node, parameters);
    if (begin == 0 && at == text.size()) return NodeOf(value, node);
    put += TextOf(value);
    changed = true;
  }
  Node copy = node;
  copy.text = std::move(put);
  copy.quoted = node.quoted || changed;
  return copy;
}

Node BlockFormulas::Filled(const Node& node, const Parameters& parameters) const {
  if (node.kind == Node::Kind::kScalar) return FilledScalar(node, parameters);
  Node copy = node;
  for (Node& child : copy.children) child = Filled(child, parameters);
  return copy;
}

Literal BlockFormulas::ValueOf(const Node& node, const Parameters& parameters) const {
  return LiteralOf(Filled(node, parameters));
}

Literal BlockFormulas::Formula(const Node& node, const Parameters& parameters) const {
  const bool is_bare =
      node.kind == Node::Kind::kScalar && node.text.find("${") == std::string::npos;
  return is_bare ? FormulaValue(node.text, 0, node, parameters) : ValueOf(node, parameters);
}

Literal BlockFormulas::LiteralOf(const Node& node) const {
  switch (node.kind) {
    case Node::Kind::kNull:
      return {};
    case Node::Kind::kMap:
      Refuse(node, fmt::format("{}: expected a value or a list, found a section", node.key));
    case Node::Kind::kList: {
      config::Literals list;
      for (const Node& child : node.children) list.push_back(LiteralOf(child));
      return {std::move(list)};
    }
    case Node::Kind::kScalar:
      break;
  }
  const config::Substituted text = config::Substitute(job_, node.text);
  if (text.fault) Refuse(node, *text.fault, text.hint);
  if (node.quoted && !text.changed) return {text.text};
  if (text.text == "true" || text.text == "false") return {text.text == "true"};
  if (config::IsNullText(text.text)) return {};
  if (const auto integer = config::ParseInteger(text.text)) {
    const auto magnitude = static_cast<int64_t>(integer->magnitude);
    return {integer->negative ? -magnitude : magnitude};
  }
  if (const auto number = config::ParseNumber(text.text)) return {*number};
  return {text.text};
}

// ---- DeclaredParameters -------------------------------------------------------------------------

std::vector<std::string> DeclaredParameters::Names() const {
  std::vector<std::string> names;
  if (section_ == nullptr) return names;
  for (const Node& parameter : section_->children) names.push_back(parameter.key);
  return names;
}

void DeclaredParameters::Bind(const std::vector<const Node*>& arguments, const Parameters& caller,
                              const Node& use, const BlockFormulas& formulas,
                              Parameters& values) const {
  const std::vector<std::string> names = Names();
  for (const Node* const argument : arguments) {
    if (std::find(names.begin(), names.end(), argument->key) == names.end()) {
      const auto near = Nearest(argument->key, names);
      RefuseKey(*argument, fmt::format("{} has no parameter '{}'", whose_, argument->key),
                near            ? fmt::format("did you mean '{}'?", *near)
                : names.empty() ? "remove it: no parameters are declared"
                                : "it has: " + Join(names, ", "));
    }
    values.insert_or_assign(argument->key, formulas.ValueOf(*argument, caller));
  }
  if (section_ == nullptr) return;
  for (const Node& parameter : section_->children) {
    if (values.contains(parameter.key)) continue;
    if (parameter.text == kRequired) {
      Refuse(use, fmt::format("{} needs '{}'", whose_, parameter.key));
    }
    values.emplace(parameter.key, formulas.ValueOf(parameter, values));
  }
}

// ---- BlockScope ---------------------------------------------------------------------------------

void BlockScope::AddBlocks(const Node& blocks) {
  if (blocks.kind != Node::Kind::kMap) {
    RefuseKey(blocks, "blocks: expected sections by name", "blocks: {NAME: {layers: [...]}}");
  }
  for (const Node& block : blocks.children) {
    CheckBlock(block);
    blocks_.insert_or_assign(block.key, &block);
  }
}

const Node& BlockScope::Block(const Node& name) const {
  const auto found = blocks_.find(name.text);
  if (found != blocks_.end()) return *found->second;
  std::vector<std::string> names;
  for (const auto& [known, block] : blocks_) names.push_back(known);
  const auto near = Nearest(name.text, names);
  Refuse(name, fmt::format("unknown block '{}'", name.text),
         near            ? fmt::format("did you mean '{}'?", *near)
         : names.empty() ? "blocks: {NAME: {layers: [...]}}"
                         : "there are: " + Join(names, ", "));
}

DeclaredParameters BlockScope::DeclaredBy(std::string_view block) const {
  const auto found = blocks_.find(block);
  return {found == blocks_.end() ? nullptr : found->second->Find("parameters"),
          fmt::format("block '{}'", block)};
}

BlockScope BlockScope::Inside(const Node& block) const {
  BlockScope inner;
  inner.blocks_ = blocks_;
  inner.of_model = of_model;
  inner.parameters = of_model;
  for (const std::string& own : DeclaredBy(block.key).Names()) inner.parameters.erase(own);
  return inner;
}

BlockScope BlockScope::InsideModel() const {
  BlockScope inner = *this;
  inner.names_.clear();
  inner.first_inputs_.reset();
  return inner;
}

void BlockScope::Label(const std::string& label, size_t layer) {
  names_.insert_or_assign(label, LayerNumber(layer));
}

void BlockScope::NameInputs(const Node* inputs, size_t layers_before) {
  if (inputs == nullptr) {
    names_.emplace(kInput,
                   layers_before == 0 ? std::string(kInput) : LayerNumber(layers_before - 1));
    return;
  }
  if (inputs->kind == Node::Kind::kMap) {
    for (const Node& child : inputs->children) names_.emplace(child.key, child.text);
    return;
  }
  if (inputs->kind == Node::Kind::kList) {
    for (size_t i = 0; i < inputs->children.size(); ++i) {
      names_.emplace(fmt::format("{}_{}", kInput, i), inputs->children[i].text);
    }
  } else {
    names_.emplace(kInput, inputs->text);
  }
  first_inputs_ = *inputs;
}

void BlockScope::Resolve(Node& inputs) const {
  if (inputs.kind == Node::Kind::kScalar) {
    const auto found = names_.find(inputs.text);
    if (found == names_.end()) return;
    inputs.text = found->second;
    inputs.quoted = true;
  }
  for (Node& child : inputs.children) Resolve(child);
}

void BlockScope::TakeNames(BlockScope&& other) {
  names_ = std::move(other.names_);
  first_inputs_ = std::move(other.first_inputs_);
}

}  // namespace tpuest::models
