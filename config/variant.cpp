#include "config/variant.h"

#include <algorithm>

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

bool HasAnyKeyOf(const Node& node, const Type& section) {
  const Fresh fresh = section.make();
  for (const Member& member : MembersOf({&section, fresh.get()})) {
    if (node.Find(member.name) != nullptr) return true;
  }
  return false;
}

}  // namespace

std::vector<size_t> AlternativesOf(const Type& variant, Kind kind) {
  std::vector<size_t> found;
  for (size_t i = 0; i < variant.alternatives.size(); ++i) {
    if (variant.alternatives[i]->kind == kind) found.push_back(i);
  }
  return found;
}

size_t NamedAlternative(const Type& variant, std::string_view name) {
  for (size_t i = 0; i < variant.alternatives.size(); ++i) {
    const Type& type = *variant.alternatives[i];
    if (!type.name.empty() && IsNameOf(type, name)) return i;
  }
  return variant.alternatives.size();
}

std::vector<std::string> TypeNames(const Type& variant) {
  std::vector<std::string> names;
  for (const Type* const type : variant.alternatives) {
    if (!type->name.empty()) names.emplace_back(type->name);
  }
  return names;
}

std::string_view TypeKey(const Type& variant) {
  for (const Type* const type : variant.alternatives) {
    if (!type->name.empty()) return type->type_key;
  }
  return "";
}

std::vector<size_t> UntypedAlternatives(const Type& variant, const Node& node) {
  std::vector<size_t> unnamed;
  bool known = false;
  for (const size_t i : AlternativesOf(variant, Kind::kSection)) {
    const Type& type = *variant.alternatives[i];
    if (!type.name.empty()) continue;
    unnamed.push_back(i);
    known = known || HasAnyKeyOf(node, type);
  }
  const std::vector<size_t> maps = AlternativesOf(variant, Kind::kMap);
  if (maps.empty() || unnamed.empty()) return maps.empty() ? unnamed : maps;
  const bool all_maps =
      !node.children.empty() &&
      std::all_of(node.children.begin(), node.children.end(),
                  [](const Node& child) { return child.kind == Node::Kind::kMap; });
  return all_maps && !known ? maps : unnamed;
}

std::vector<size_t> AlternativesFor(const Type& variant, const Node& node) {
  if (node.kind == Node::Kind::kList) return AlternativesOf(variant, Kind::kList);
  const std::string_view type_key = TypeKey(variant);
  const Node* const type = type_key.empty() ? nullptr : node.Find(type_key);
  if (type == nullptr && node.kind == Node::Kind::kMap) return UntypedAlternatives(variant, node);
  const size_t named = NamedAlternative(variant, type == nullptr ? node.text : type->text);
  if (named == variant.alternatives.size()) return {};
  return {named};
}

}  // namespace tpuest::config
