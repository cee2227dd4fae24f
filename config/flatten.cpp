#include "config/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/writer.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

class Flattener {
 public:
  // An optional and a variant add nothing to the path of their value.
  void Walk(const Value& value, const std::string& path) {
    switch (value.type->kind) {
      case Kind::kOptional: {
        const std::vector<Item> items = ItemsOf(value);
        return items.empty() ? Leaf(value, path) : Walk(items.front().value, path);
      }
      case Kind::kList:
        return Items(value, path);
      case Kind::kMap:
        return Entries(value, path);
      case Kind::kSection:
        return Members(value, path);
      case Kind::kVariant:
        return Alternative(value, path);
      default:
        return Leaf(value, path);
    }
  }

  [[nodiscard]] std::vector<FlatValue> Take() { return std::move(values_); }

 private:
  static std::string Joined(const std::string& path, std::string_view step) {
    return path.empty() ? std::string(step) : fmt::format("{}.{}", path, step);
  }

  void Leaf(const Value& value, const std::string& path) {
    values_.push_back({path, FlowText(value), help_, changes_bits_});
  }

  void Items(const Value& list, const std::string& path) {
    const std::vector<Item> items = ItemsOf(list);
    if (items.empty()) Leaf(list, path);
    for (size_t i = 0; i < items.size(); ++i) {
      Walk(items[i].value, fmt::format("{}[{}]", path, i));
    }
  }

  void Entries(const Value& map, const std::string& path) {
    const std::vector<Item> items = ItemsOf(map);
    if (items.empty()) Leaf(map, path);
    for (const Item& item : items) Walk(item.value, Joined(path, item.key));
  }

  void Members(const Value& section, const std::string& path) {
    for (const Member& member : MembersOf(section)) {
      const std::string_view of_section = std::exchange(help_, member.field.help);
      const bool section_does =
          std::exchange(changes_bits_, changes_bits_ && member.field.changes_bits);
      Walk(member.value, Joined(path, member.name));
      help_ = of_section;
      changes_bits_ = section_does;
    }
  }

  void Alternative(const Value& variant, const std::string& path) {
    const Type& chosen = *variant.type->alternatives[variant.type->index(variant.at)];
    if (!chosen.name.empty()) {
      values_.push_back(
          {Joined(path, chosen.type_key), std::string(chosen.name), help_, changes_bits_});
    }
    Walk({&chosen, variant.type->chosen(variant.at)}, path);
  }

  std::vector<FlatValue> values_;
  std::string_view help_;     // of the current key
  bool changes_bits_ = true;  // likewise
};

}  // namespace

std::vector<FlatValue> FlatValuesOf(const Value& section) {
  Flattener flattener;
  flattener.Walk(section, "");
  return flattener.Take();
}

const FlatValue* FindValue(const std::vector<FlatValue>& values, std::string_view path) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const FlatValue& value) { return value.path == path; });
  return found == values.end() ? nullptr : &*found;
}

std::optional<std::string> FindText(const std::vector<FlatValue>& values, std::string_view path) {
  const FlatValue* const found = FindValue(values, path);
  return found == nullptr ? std::nullopt : std::optional(found->text);
}

std::vector<Difference> DifferencesOf(const std::vector<FlatValue>& a,
                                      const std::vector<FlatValue>& b) {
  std::map<std::string, std::string> of_b;
  for (const FlatValue& value : b) of_b[value.path] = value.text;
  std::vector<Difference> differences;
  for (const FlatValue& value : a) {
    const auto other = of_b.find(value.path);
    if (other == of_b.end()) {
      differences.push_back({value.path, value.text, std::nullopt});
      continue;
    }
    if (other->second != value.text) differences.push_back({value.path, value.text, other->second});
    of_b.erase(other);
  }
  for (const FlatValue& value : b) {
    if (of_b.contains(value.path)) differences.push_back({value.path, std::nullopt, value.text});
  }
  return differences;
}

}  // namespace tpuest::config
