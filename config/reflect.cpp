#include "config/reflect.h"

#include <algorithm>
#include <map>
#include <mutex>

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

const std::vector<TypeMember>& TypeMembersOf(const Type& section) {
  static std::mutex adding;
  static std::map<const Type*, std::vector<TypeMember>> all;  // addresses of entries stay valid
  const std::lock_guard lock(adding);
  const auto found = all.find(&section);
  if (found != all.end()) return found->second;
  std::vector<TypeMember> members;
  const Fresh fresh = section.make();
  for (const Member& member : MembersOf({&section, fresh.get()})) {
    members.push_back({member.name, member.value.type});
  }
  return all.emplace(&section, std::move(members)).first->second;
}

namespace reflect {

bool SetStepCount(void* at, bool negative, uint64_t magnitude) {
  int64_t steps = 0;
  if (!SetInteger<int64_t>(&steps, negative, magnitude)) return false;
  *static_cast<StepCount*>(at) = steps;
  return true;
}

std::string StepCountText(const void* at) { return static_cast<const StepCount*>(at)->Text(); }

void SetEpochs(void* at, double epochs) {
  *static_cast<StepCount*>(at) = StepCount::OfEpochs(epochs);
}

void Lister::Add(std::string_view name, Value value, const Field& field) {
  members_.push_back({name, value, field});
}

}  // namespace reflect
}  // namespace tpuest::config
