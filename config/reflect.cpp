#include "config/reflect.h"

#include <algorithm>

namespace tpuest::config {

bool IsNameOf(const Type& section, std::string_view name) {
  return section.name == name ||
         std::find(section.aliases.begin(), section.aliases.end(), name) != section.aliases.end();
}

std::vector<Member> MembersOf(const Value& section) {
  std::vector<Member> members;
  section.type->members(section.at, members);
  return members;
}

std::vector<Item> ItemsOf(const Value& container) {
  std::vector<Item> items;
  container.type->items(container.at, items);
  return items;
}

namespace reflect {

void Lister::Add(std::string_view name, Value value, const Field& field) {
  members_.push_back({name, value, field});
}

}  // namespace reflect
}  // namespace tpuest::config
