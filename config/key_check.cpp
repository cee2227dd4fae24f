// Finds unknown keys of a section, and suggests where they might belong.

#include <fmt/format.h>

#include <algorithm>

#include "config/schema.h"
#include "config/tree_reader.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

size_t CommonSteps(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common]) ++common;
  return common;
}

// Returns the number of steps up and down from one section to another.
size_t Distance(const std::string& a, const std::string& b) {
  const std::vector<std::string> from = PathSteps(a);
  const std::vector<std::string> to = PathSteps(b);
  return from.size() + to.size() - 2 * CommonSteps(from, to);
}

// Returns true if a key path matches a section's pattern (OtherKey).
bool Fits(std::string_view pattern, const std::vector<std::string>& path) {
  const std::vector<std::string> steps = PathSteps(pattern);
  return std::equal(steps.begin(), steps.end(), path.begin(), path.end(),
                    [](const std::string& a, const std::string& b) { return a == "*" || a == b; });
}

// The structs of a variant that have the key: "MomentumOptimizer".
std::vector<std::string> TypesWithKey(const Type& variant, std::string_view key) {
  std::vector<std::string> names;
  for (const Type* const type : variant.alternatives) {
    if (type->kind != Type::Kind::kSection || type->name.empty()) continue;
    for (const TypeMember& member : TypeMembersOf(*type)) {
      if (member.name == key) names.emplace_back(type->name);
    }
  }
  return names;
}

// "master: ''" and "evaluation_master: null" mean the same as omitting the key.
bool AsksForNothing(const Node& node) {
  return node.kind == Node::Kind::kNull || (node.kind == Node::Kind::kScalar && node.text.empty());
}

}  // namespace

std::string ColonHint(const Node& key) {
  const size_t colon = key.key.find(':');
  const bool is_alone = key.kind == Node::Kind::kNull && colon != std::string::npos && colon > 0 &&
                        colon + 1 < key.key.size();
  if (!is_alone) return "";
  return fmt::format("put a space after the colon: {}: {}", key.key.substr(0, colon),
                     key.key.substr(colon + 1));
}

const OtherKey* OtherNames::Find(const std::vector<std::string>& section, std::string_view type,
                                 std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const OtherKey& other) {
    if (other.key != key) return false;
    if (other.sections.empty()) return section.empty();
    const std::vector<std::string> places = Split(other.sections, ' ');
    return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
      return (!type.empty() && place == type) || Fits(place, section);
    });
  });
  return found == keys.end() ? nullptr : &*found;
}

std::string_view OtherNames::AnswerTo(std::string_view type) const {
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const OtherType& other) { return other.name == type; });
  return found == types.end() ? "" : found->answer;
}

void TreeReader::CheckKeys(const Node& node, const Value& value, const std::vector<Member>& members,
                           const Type* of) {
  const bool top = &node == &tree_.root;
  const std::string_view type_key = value.type->name.empty() ? "" : value.type->type_key;
  for (const Node& child : node.children) {
    if (top && StartsWith(child.key, "x-")) continue;  // holds anchors
    const bool known = std::any_of(members.begin(), members.end(),
                                   [&](const Member& member) { return member.name == child.key; });
    if (known) continue;
    if (child.key != type_key || type_key.empty()) {
      UnknownKey(child, value, members, of);
    } else if (of == nullptr) {
      const Type& type = *value.type;
      if (!IsNameOf(type, child.text))
        Mistyped(child, fmt::format("'{}'", type.name),
                 std::string(tree_.others.AnswerTo(child.text)));
    }
  }
}

void TreeReader::UnknownKey(const Node& child, const Value& section,
                            const std::vector<Member>& members, const Type* of) {
  constexpr size_t kMostUnknownKeys = 50;
  if (reported_.size() > kMostUnknownKeys) return;
  const OtherKey* const other = tree_.others.Find(PathSteps(path_), section.type->name, child.key);
  const std::string path = path_.empty() ? child.key : path_ + "." + child.key;
  if (other != nullptr && AsksForNothing(child)) return;
  if (other != nullptr && other->is_accepted) {
    const std::string note = fmt::format("{} is ignored: {}", path, other->answer);
    if (reported_.insert(note).second) notes_.push_back(note);
    return;
  }
  const std::string id = fmt::format("{}:{}:{} unknown key", child.key_place.file,
                                     child.key_place.line, child.key_place.column);
  // An alias is read wherever it is used, but its fault is reported once. A file with very many
  // unknown keys is not a job.
  if (!reported_.insert(id).second) return;
  if (reported_.size() > kMostUnknownKeys) {
    faults_.Add({"further unknown keys follow", "", "", child.key_place, child.key_width});
    return;
  }
  std::vector<std::string> keys;
  for (const Member& member : members) keys.emplace_back(member.name);
  if (of != nullptr) keys.emplace_back(section.type->type_key);
  // The best hint first: another type's option, a key of a section nearby, a typing error, a key
  // anywhere.
  std::string hint = ElsewhereHint(child.key, true);
  const std::optional<std::string> near = Nearest(child.key, keys);
  const std::vector<std::string> types =
      of == nullptr ? std::vector<std::string>() : TypesWithKey(*of, child.key);
  if (other != nullptr) {
    hint = other->answer;
  } else if (const std::string colon = ColonHint(child); !colon.empty()) {
    hint = colon;
  } else if (!types.empty()) {
    hint = fmt::format("'{}' is an option of {}, not of {}", child.key, Join(types, ", "),
                       section.type->name);
  } else if (hint.empty() && near) {
    hint = fmt::format("did you mean '{}'?", *near);
  } else if (hint.empty()) {
    hint = ElsewhereHint(child.key, false);
  }
  if (hint.empty() && !keys.empty() && keys.size() <= 12) {
    hint = fmt::format("known here: {}", Join(keys, ", "));
  }
  const std::string message = fmt::format("unknown key '{}'{}", child.key, InPath());
  faults_.Add({message, hint, path, child.key_place, child.key_width});
}

// Returns a hint where else the job has a key of that name, next to this section or anywhere; empty
// if nowhere.
std::string TreeReader::ElsewhereHint(const std::string& key, bool near_only) {
  std::optional<std::string> best;
  size_t best_distance = 0;
  for (const std::string& section : SectionsWithKey(*root_.type, key)) {
    if (section == schema_path_) continue;
    const size_t distance = Distance(section, schema_path_);
    if (near_only && distance > 2) continue;
    if (best && distance >= best_distance) continue;
    best = section;
    best_distance = distance;
  }
  if (!best) return "";
  return fmt::format("'{}' belongs {}", key, best->empty() ? "to the top level" : "to " + *best);
}

}  // namespace tpuest::config
