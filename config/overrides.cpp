#include "config/overrides.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/flow_text.h"
#include "config/schema.h"
#include "config/variant.h"
#include "config/writer.h"
#include "config/yaml_reader.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

// Adds the types that a value of this type can have there: an optional's own, a variant's all.
void AddChoices(const Type& type, std::vector<const Type*>& choices) {
  if (type.kind == Kind::kOptional) return AddChoices(*type.item, choices);
  if (type.kind == Kind::kVariant) {
    for (const Type* const alternative : type.alternatives) AddChoices(*alternative, choices);
  }
  choices.push_back(&type);
}

// The types that a step below these types can have; empty if none of them has such a key.
std::vector<const Type*> StepInto(const std::vector<const Type*>& types, const std::string& step) {
  std::vector<const Type*> inside;
  for (const Type* const type : types) {
    // A Raw takes whatever stands below it.
    if (type->kind == Kind::kRaw) inside.push_back(type);
    if (type->kind == Kind::kMap) AddChoices(*type->item, inside);
    if (type->kind == Kind::kList && WholeNumber<size_t>(step)) AddChoices(*type->item, inside);
    if (type->kind != Kind::kSection) continue;
    static constexpr const Type& kWord = kTypeOf<std::string>;
    if (!type->name.empty() && step == type->type_key) inside.push_back(&kWord);
    for (const TypeMember& member : TypeMembersOf(*type)) {
      if (member.name == step) AddChoices(*member.type, inside);
    }
  }
  return inside;
}

std::vector<const Type*> TypesAt(const Type& root, const std::vector<std::string>& steps) {
  std::vector<const Type*> types = {&root};
  for (const std::string& step : steps) types = StepInto(types, step);
  return types;
}

// Whether the path's last steps are these, of which there is one at least.
bool EndsWithSteps(const std::string& path, const std::vector<std::string>& suffix) {
  const std::string& last = suffix.back();
  if (!path.ends_with(last) && !path.ends_with(last + "]")) return false;  // nearly all of them
  const std::vector<std::string> steps = PathSteps(path);
  return suffix.size() <= steps.size() &&
         std::equal(suffix.rbegin(), suffix.rend(), steps.rbegin());
}

// The key of a section of these types by this node, with its default: of a variant the alternative
// that the node names, or else the default's own. What is made to hold the defaults goes to `kept`.
Value MemberAt(Value section, const Node& node, const std::string& step, std::vector<Fresh>& kept) {
  while (section.type != nullptr && section.type->kind != Kind::kSection) {
    const Type& type = *section.type;
    if (type.kind == Kind::kOptional) {
      section = {type.item, nullptr};
    } else if (type.kind == Kind::kVariant) {
      const std::vector<size_t> chosen = AlternativesFor(type, node);
      section = chosen.empty() ? Value{} : Value{type.alternatives[chosen.front()], nullptr};
    } else {
      const bool has_items = type.kind == Kind::kMap || type.kind == Kind::kList;
      return {has_items ? type.item : nullptr, nullptr};
    }
  }
  if (section.type == nullptr) return {};
  if (section.at == nullptr) {
    kept.push_back(section.type->make());
    section.at = kept.back().get();
  }
  for (const Member& member : MembersOf(section)) {
    if (member.name == step) return member.value;
  }
  return {};
}

// The name of the struct that a variant's default is: "Ftrl"; empty if it is none.
std::string_view NameOfDefault(const Value& value) {
  if (value.at == nullptr || value.type->kind != Kind::kVariant) return "";
  const Type& type = *value.type->alternatives[value.type->index(value.at)];
  return type.kind == Kind::kSection ? type.name : "";
}

// An override's text in its parts: "layers[0].units=64" is key and value.
struct Parts {
  enum class Kind { kSet, kAppend, kRemove };
  Kind kind = Kind::kSet;
  std::string key;
  size_t key_at = 0;    // byte of the text
  size_t value_at = 0;  // behind the '='
};

// The parts of a text; nullopt if it is no override.
std::optional<Parts> PartsOf(const std::string& text) {
  if (text.starts_with('~')) {
    if (text.size() == 1 || text.find('=') != std::string::npos) return std::nullopt;
    return Parts{Parts::Kind::kRemove, text.substr(1), 1, text.size()};
  }
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const bool appends = equals > 0 && text[equals - 1] == '+';
  Parts parts{appends ? Parts::Kind::kAppend : Parts::Kind::kSet,
              text.substr(0, appends ? equals - 1 : equals), 0, equals + 1};
  if (parts.key.empty()) return std::nullopt;
  return parts;
}

Error OverrideFault(const Place& place, int column, int width, std::string message,
                    std::string hint) {
  return {Code::kUsage, std::vector<Fault>{{std::move(message), std::move(hint), "",
                                            Place{place.file, place.line, column}, width}}};
}

// Finds the key path that the KEY of an override stands for.
class OverrideKeys {
 public:
  OverrideKeys(const Tree& tree, const Value& defaults, const std::vector<std::string>& parameters)
      : tree_(tree), defaults_(defaults), parameters_(parameters) {}

  // The path itself if there is such a key, else the only one that ends like it. Throws Error
  // kUsage for none and for several.
  [[nodiscard]] std::string PathOf(const std::string& key, const Place& place) const {
    const std::vector<std::string> steps = PathSteps(key);
    if (!steps.empty() && !TypesAt(*defaults_.type, steps).empty()) return key;
    std::vector<std::string> paths;
    for (ConcreteKey& key : ConcreteKeys(tree_, defaults_)) paths.push_back(std::move(key.path));
    paths.insert(paths.end(), parameters_.begin(), parameters_.end());
    std::vector<std::string> fitting;
    for (const std::string& path : paths) {
      if (steps.empty() || !EndsWithSteps(path, steps)) continue;
      const std::string meant = ParameterOf(path);
      const bool is_new = std::find(fitting.begin(), fitting.end(), meant) == fitting.end();
      if (is_new) fitting.push_back(meant);
    }
    if (fitting.size() == 1) return fitting.front();
    if (const std::optional<std::string> plain = OnlyPlain(fitting)) return *plain;
    const int width = static_cast<int>(key.size());
    if (fitting.empty()) {
      // The reader answers it.
      if (const std::optional<std::string> other = PathOfOtherKey(steps)) return *other;
      throw OverrideFault(place, place.column, width, fmt::format("unknown key '{}'", key),
                          NearestPath(key, paths));
    }
    constexpr size_t kShown = 8;
    const size_t more = fitting.size() - std::min(fitting.size(), kShown);
    fitting.resize(fitting.size() - more);
    throw OverrideFault(place, place.column, width,
                        fmt::format("'{}' matches more than one key", key),
                        "write one of " + Join(fitting, ", ") +
                            (more > 0 ? fmt::format(" and {} more", more) : ""));
  }

 private:
  // The only path that leads through no list: it goes before the keys of lists' items, as
  // tpu_config.num_shards before the one of a stage. nullopt: there is none, or several.
  static std::optional<std::string> OnlyPlain(const std::vector<std::string>& paths) {
    const auto is_plain = [](const std::string& path) { return path.find('[') == path.npos; };
    if (std::count_if(paths.begin(), paths.end(), is_plain) != 1) return std::nullopt;
    return *std::find_if(paths.begin(), paths.end(), is_plain);
  }

  // The parameter that is the key's whole value, as in ${params.rate}; or the path itself.
  [[nodiscard]] std::string ParameterOf(const std::string& path) const {
    const Node* const node = FindNode(tree_, path);
    if (node == nullptr || node->kind != Node::Kind::kScalar) return path;
    const std::string& text = node->text;
    if (!text.starts_with("${params.") || text.find('}') + 1 != text.size()) return path;
    const std::string parameter = text.substr(2, text.size() - 3);
    return FindNode(tree_, parameter) == nullptr ? path : parameter;
  }

  // The whole path of a key of tree_.others, of which these are all or the last steps.
  [[nodiscard]] std::optional<std::string> PathOfOtherKey(std::vector<std::string> steps) const {
    if (steps.empty()) return std::nullopt;
    const std::string path = Join(steps, ".");
    const std::string key = std::move(steps.back());
    steps.pop_back();
    const Node* const section = FindNode(tree_, Join(steps, "."));
    const Node* const type = section == nullptr ? nullptr : section->Find("type");
    if (tree_.others.Find(steps, type == nullptr ? "" : type->text, key) != nullptr) return path;
    for (const OtherKey& other : tree_.others.keys) {
      const std::string whole = fmt::format("{}.{}", other.sections, other.key);
      if (other.key == key && whole.ends_with("." + path) &&
          !TypesAt(*defaults_.type, PathSteps(other.sections)).empty()) {
        return whole;
      }
    }
    return std::nullopt;
  }

  // A hint, "did you mean 'train_spec.max_steps'?", for the path whose last steps are all nearly
  // those given; empty if there is none.
  static std::string NearestPath(const std::string& key, const std::vector<std::string>& paths) {
    std::vector<std::string> given = PathSteps(key);
    if (!given.empty() && given.back() == "lr") given.back() = "learning_rate";
    std::vector<std::string> endings;
    std::vector<std::string> whole;
    for (const std::string& path : paths) {
      std::vector<std::string> steps = PathSteps(path);
      if (steps.size() < given.size()) continue;
      steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(given.size()));
      const bool near = std::equal(given.begin(), given.end(), steps.begin(), [](auto& a, auto& b) {
        return a == b || Nearest(a, {b}).has_value();
      });
      if (!near) continue;
      endings.push_back(Join(steps, "."));
      whole.push_back(path);
    }
    const std::optional<std::string> near = Nearest(Join(given, "."), endings);
    if (!near) return "";
    const auto at = std::find(endings.begin(), endings.end(), *near) - endings.begin();
    return fmt::format("did you mean '{}'?", whole[static_cast<size_t>(at)]);
  }

  const Tree& tree_;
  const Value& defaults_;
  const std::vector<std::string>& parameters_;
};

// The value as a node. A string is taken as it stands, since a shell has unquoted it already;
// everything else is YAML.
Node ReadOverrideValue(const Override& override, size_t start, const Place& place,
                       const std::vector<const Type*>& types) {
  const std::string text = override.text.substr(start);
  const Origin origin{Origin::Kind::kOverride, override.origin};
  const bool formula =
      std::any_of(types.begin(), types.end(), [](const Type* type) { return type->formula; }) &&
      !text.starts_with('{') && !text.starts_with('[');
  const bool strings =
      formula || (!types.empty() && std::all_of(types.begin(), types.end(), [](const Type* type) {
        return type->kind == Kind::kString;
      }));
  // YAML reads nothing as null, which for many a key means "without a bound".
  if (!strings && text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw OverrideFault(place, 1, static_cast<int>(start),
                        fmt::format("'{}': the value is missing", override.text.substr(0, start)),
                        "KEY=null sets null, ~KEY restores the default");
  }
  const bool quoted = text.starts_with('"') || text.starts_with('\'');
  if (!strings || quoted || text == "null" || text == "~") {
    return ParseFlowValue(override.text, start, place, origin);
  }
  Node node;
  node.kind = Node::Kind::kScalar;
  node.text = text;
  node.quoted = text.empty();
  node.place = {place.file, place.line, static_cast<int>(start) + 1};
  node.width = std::max<int>(static_cast<int>(text.size()), 1);
  node.origin = origin;
  return node;
}

// Applies overrides to the tree, one by one.
class Overrider {
 public:
  Overrider(Tree& tree, const Value& defaults, const std::vector<std::string>& parameters)
      : tree_(tree), defaults_(defaults), keys_(tree, defaults, parameters) {}

  // Applies one override. Throws Error kUsage, with its place in the argument.
  AppliedOverride Apply(const Override& override, const Place& place) {
    const std::optional<Parts> parts = PartsOf(override.text);
    if (!parts) {
      throw OverrideFault(place, 1, static_cast<int>(override.text.size()),
                          fmt::format("expected KEY=VALUE, found '{}'", override.text),
                          "KEY+=ITEM appends to a list, ~KEY restores the default");
    }
    Place at = place;
    at.column = static_cast<int>(parts->key_at) + 1;
    const std::string path = keys_.PathOf(parts->key, at);
    const std::vector<std::string> steps = PathSteps(path);
    if (parts->kind == Parts::Kind::kRemove) {
      Remove(steps);
      return {parts->key, path};
    }
    std::vector<const Type*> types = TypesAt(*defaults_.type, steps);
    if (parts->kind == Parts::Kind::kSet) {
      Put(steps, parts->key, at, ReadOverrideValue(override, parts->value_at, place, types));
      return {parts->key, path};
    }
    types = StepInto(types, "0");
    if (types.empty()) {
      throw OverrideFault(at, at.column, static_cast<int>(parts->key.size()),
                          fmt::format("'{}' is not a list", path),
                          fmt::format("{}=VALUE", parts->key));
    }
    Append(steps, parts->key, at, ReadOverrideValue(override, parts->value_at, place, types));
    return {parts->key, path};
  }

 private:
  // The node at the path, made where it is not there.
  Node& Reach(const std::vector<std::string>& steps, const std::string& key, const Place& place,
              const Origin& origin) {
    Node* node = &tree_.root;
    std::vector<const Type*> types = {defaults_.type};
    Value value = defaults_;
    std::vector<Fresh> kept;
    for (const std::string& step : steps) {
      // What the job leaves to its default is that default, with this key changed.
      if (const std::string_view name = NameOfDefault(value);
          node->kind == Node::Kind::kNull && !name.empty()) {
        node->kind = Node::Kind::kScalar;
        node->text = name;
      }
      MakeSection(*node, types, origin);
      types = StepInto(types, step);
      value = MemberAt(value, *node, step, kept);
      node = &Child(*node, step, key, place, origin);
    }
    return *node;
  }

  void Put(const std::vector<std::string>& steps, const std::string& key, const Place& place,
           Node value) {
    Node& node = Reach(steps, key, place, value.origin);
    value.key = node.key;
    value.key_place = {place.file, place.line, place.column};
    value.key_width = static_cast<int>(key.size());
    // `config show --explain` tells what a key had been, file by file.
    value.earlier = std::move(node.earlier);
    // A node that Reach has just made covers nothing.
    if (node.place.file != place.file || node.place.line != place.line) {
      value.earlier.push_back({FlowText(node), OriginText(node)});
    }
    node = std::move(value);
  }

  void Append(const std::vector<std::string>& steps, const std::string& key, const Place& place,
              Node item) {
    Node& node = Reach(steps, key, place, item.origin);
    if (node.kind == Node::Kind::kNull) {
      if (auto items = DefaultItems(steps, place, item.origin)) node.children = *std::move(items);
    } else if (node.kind != Node::Kind::kList) {
      Node first = node;
      first.key.clear();
      node.children = {std::move(first)};
    }
    node.kind = Node::Kind::kList;
    node.text.clear();
    node.children.push_back(std::move(item));
  }

  // The default's items, for a list that starts with some; nullopt if the path is no list of the
  // defaults.
  std::optional<std::vector<Node>> DefaultItems(const std::vector<std::string>& steps,
                                                const Place& place, const Origin& origin) const {
    Value at = defaults_;
    for (const std::string& step : steps) {
      if (at.type->kind != Kind::kSection) return std::nullopt;
      const std::vector<Member> members = MembersOf(at);
      const auto member = std::find_if(members.begin(), members.end(),
                                       [&](const Member& m) { return m.name == step; });
      if (member == members.end()) return std::nullopt;
      at = member->value;
    }
    if (at.type->kind != Kind::kList) return std::nullopt;
    return ParseFlowValue("=" + config::FlowText(at), 1, place, origin).children;
  }

  void Remove(const std::vector<std::string>& steps) {
    Node* parent = &tree_.root;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto child = ChildAt(*parent, steps[i]);
      if (child == parent->children.end()) return;
      if (i + 1 < steps.size()) {
        parent = &*child;
      } else {
        parent->children.erase(child);
      }
    }
  }

  static std::vector<Node>::iterator ChildAt(Node& node, const std::string& step) {
    auto& children = node.children;
    if (node.kind != Node::Kind::kList) {
      return std::find_if(children.begin(), children.end(),
                          [&](const Node& child) { return child.key == step; });
    }
    const std::optional<size_t> index = WholeNumber<size_t>(step);
    const bool is_there = index && *index < children.size();
    return is_there ? children.begin() + static_cast<std::ptrdiff_t>(*index) : children.end();
  }

  // Turns what has no keys into a section: `accuracy` into {type: accuracy}, the rest into {}.
  static void MakeSection(Node& node, const std::vector<const Type*>& types, const Origin& origin) {
    if (node.kind == Node::Kind::kMap || node.kind == Node::Kind::kList) return;
    Node type = node;
    for (const Type* const variant : types) {
      if (variant->kind != Kind::kVariant || node.kind != Node::Kind::kScalar) continue;
      const size_t named = NamedAlternative(*variant, node.text);
      if (named == variant->alternatives.size()) continue;
      type.key = variant->alternatives[named]->type_key;
      type.key_place = type.place;
      type.key_width = type.width;
      node.children = {type};
    }
    if (node.children.empty()) node.origin = origin;
    node.kind = Node::Kind::kMap;
    node.text.clear();
    node.width = 1;
  }

  static Node& Child(Node& node, const std::string& step, const std::string& key,
                     const Place& place, const Origin& origin) {
    if (node.kind == Node::Kind::kList) {
      const std::optional<size_t> index = WholeNumber<size_t>(step);
      if (index && *index < node.children.size()) return node.children[*index];
      throw OverrideFault(
          place, place.column, static_cast<int>(key.size()),
          fmt::format("'{}': the list has {} items, counted from 0", key, node.children.size()),
          "");
    }
    if (Node* const child = node.Find(step)) return *child;
    Node child;
    child.key = step;
    child.key_place = {place.file, place.line, place.column};
    child.key_width = static_cast<int>(key.size());
    child.place = child.key_place;
    child.origin = origin;
    node.children.push_back(std::move(child));
    return node.children.back();
  }

  Tree& tree_;
  const Value& defaults_;
  const OverrideKeys keys_;
};

}  // namespace

std::vector<AppliedOverride> ApplyOverridesTo(Tree& tree, const std::vector<Override>& overrides,
                                              const Value& defaults,
                                              const std::vector<std::string>& parameters,
                                              Sources& sources, Faults& faults) {
  std::vector<AppliedOverride> applied;
  Overrider overrider(tree, defaults, parameters);
  for (const Override& override : overrides) {
    const int line = sources.AddLine(override.origin, override.text);
    faults.Catch([&] {
      applied.push_back(overrider.Apply(override, Place{override.origin, line, 0}));
    });
  }
  return applied;
}

}  // namespace tpuest::config
