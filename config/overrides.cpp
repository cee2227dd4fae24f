#include "config/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config/schema.h"
#include "config/variant.h"
#include "config/yaml_reader.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

std::optional<size_t> IndexOf(const std::string& step) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc() || end != step.data() + step.size()) return std::nullopt;
  return index;
}

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
    if (type->kind == Kind::kRaw) inside.push_back(type);
    if (type->kind == Kind::kMap) AddChoices(*type->item, inside);
    if (type->kind == Kind::kList && IndexOf(step)) AddChoices(*type->item, inside);
    if (type->kind != Kind::kSection) continue;
    static constexpr const Type& kWord = kTypeOf<std::string>;
    if (!type->name.empty() && step == type->type_key) inside.push_back(&kWord);
    const Fresh fresh = type->make();
    for (const Member& member : MembersOf({type, fresh.get()})) {
      if (member.name == step) AddChoices(*member.value.type, inside);
    }
  }
  return inside;
}

std::vector<const Type*> TypesAt(const Type& root, const std::vector<std::string>& steps) {
  std::vector<const Type*> types = {&root};
  for (const std::string& step : steps) types = StepInto(types, step);
  return types;
}

bool EndsWithSteps(const std::vector<std::string>& path, const std::vector<std::string>& suffix) {
  return suffix.size() <= path.size() && std::equal(suffix.rbegin(), suffix.rend(), path.rbegin());
}

std::string WithoutKey(const std::string& text) { return text.substr(0, text.find('=')); }

class Overrider {
 public:
  Overrider(Tree& tree, const Value& defaults) : tree_(tree), defaults_(defaults) {}

  // Throws Error(kUsage).
  AppliedOverride Apply(const Override& override, const Place& place) {
    const std::string key = WithoutKey(override.text);
    if (key.size() == override.text.size() || key.empty()) {
      throw Fail(place, 1, static_cast<int>(override.text.size()),
                 fmt::format("expected KEY=VALUE, found '{}'", override.text), "");
    }
    const std::string path = FullPath(key, place);
    const std::vector<std::string> steps = PathSteps(path);
    const std::vector<const Type*> types = TypesAt(*defaults_.type, steps);
    Node value = ReadOverrideValue(override, key.size() + 1, place, types);
    Put(steps, key, place, std::move(value));
    return {key, path};
  }

 private:
  static Error Fail(const Place& place, int column, int width, std::string message,
                    std::string hint) {
    return {Code::kUsage, std::vector<Fault>{{std::move(message), std::move(hint), "",
                                              Place{place.file, place.line, column}, width}}};
  }

  // The path itself if there is such a key, else the only one that ends like it.
  std::string FullPath(const std::string& key, const Place& place) {
    const std::vector<std::string> steps = PathSteps(key);
    if (!steps.empty() && !TypesAt(*defaults_.type, steps).empty()) return key;
    const std::vector<std::string> paths = ConcretePaths(tree_, defaults_);
    std::vector<std::string> fitting;
    for (const std::string& path : paths) {
      if (!steps.empty() && EndsWithSteps(PathSteps(path), steps)) fitting.push_back(path);
    }
    if (fitting.size() == 1) return fitting.front();
    const int width = static_cast<int>(key.size());
    if (fitting.empty()) {
      throw Fail(place, 1, width, fmt::format("unknown key '{}'", key), NearestPath(key, paths));
    }
    constexpr size_t kShown = 8;
    const size_t more = fitting.size() - std::min(fitting.size(), kShown);
    fitting.resize(fitting.size() - more);
    throw Fail(
        place, 1, width, fmt::format("'{}' stands for more than one key; write one of them", key),
        "one of " + Join(fitting, ", ") + (more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  // "did you mean 'train_spec.max_steps'?": the path whose last steps are all nearly those given.
  static std::string NearestPath(const std::string& key, const std::vector<std::string>& paths) {
    const std::vector<std::string> given = PathSteps(key);
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

  // A string is taken as it stands; everything else is YAML.
  static Node ReadOverrideValue(const Override& override, size_t start, const Place& place,
                                const std::vector<const Type*>& types) {
    const std::string text = override.text.substr(start);
    const Origin origin{Origin::Kind::kOverride, override.origin};
    const bool strings = std::all_of(types.begin(), types.end(),
                                     [](const Type* type) { return type->kind == Kind::kString; });
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

  void Put(const std::vector<std::string>& steps, const std::string& key, const Place& place,
           Node value) {
    Node* node = &tree_.root;
    std::vector<const Type*> types = {defaults_.type};
    for (const std::string& step : steps) {
      MakeSection(*node, types, value.origin);
      types = StepInto(types, step);
      node = &Child(*node, step, key, place, value.origin);
    }
    value.key = node->key;
    value.key_place = {place.file, place.line, 1};
    value.key_width = static_cast<int>(key.size());
    *node = std::move(value);
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
      const std::optional<size_t> index = IndexOf(step);
      if (index && *index < node.children.size()) return node.children[*index];
      throw Fail(
          place, 1, static_cast<int>(key.size()),
          fmt::format("'{}': the list has {} items, counted from 0", key, node.children.size()),
          "");
    }
    if (Node* const child = node.Find(step)) return *child;
    Node child;
    child.key = step;
    child.key_place = {place.file, place.line, 1};
    child.key_width = static_cast<int>(key.size());
    child.place = child.key_place;
    child.origin = origin;
    node.children.push_back(std::move(child));
    return node.children.back();
  }

  Tree& tree_;
  const Value& defaults_;
};

}  // namespace

std::vector<AppliedOverride> ApplyOverridesTo(Tree& tree, const std::vector<Override>& overrides,
                                              const Value& defaults, Sources& sources,
                                              std::vector<Fault>& faults) {
  std::vector<AppliedOverride> applied;
  Overrider overrider(tree, defaults);
  for (const Override& override : overrides) {
    const int line = sources.AddLine(override.origin, override.text);
    try {
      applied.push_back(overrider.Apply(override, Place{override.origin, line, 0}));
    } catch (const Error& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  return applied;
}

}  // namespace tpuest::config
