#include "config/reflect.h"

namespace tpuest {

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
}  // namespace tpuest
