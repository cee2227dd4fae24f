#include "config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/variant.h"
#include "config/writer.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

const Type& WithoutOptional(const Type& type) {
  return type.kind == Kind::kOptional ? WithoutOptional(*type.item) : type;
}

std::string Joined(const std::string& path, std::string_view step) {
  return path.empty() ? std::string(step) : fmt::format("{}.{}", path, step);
}

bool HoldsSections(const Type& type) {
  if (type.kind == Kind::kSection) return true;
  if (type.item != nullptr) return HoldsSections(*type.item);
  return std::any_of(type.alternatives.begin(), type.alternatives.end(),
                     [](const Type* alternative) { return HoldsSections(*alternative); });
}

// Returns the names of a variant's structs: the words of `type:`.
std::vector<std::string> NamedTypes(const Type& type) {
  std::vector<std::string> names;
  for (const Type* const alternative : WithoutOptional(type).alternatives) {
    if (!alternative->name.empty()) names.emplace_back(alternative->name);
  }
  return names;
}

class SchemaLister {
 public:
  void Section(const Value& section, const std::string& path, std::string_view of_type) {
    // A struct that contains itself would recurse without end.
    if (std::find(open_.begin(), open_.end(), section.type) != open_.end()) return;
    open_.push_back(section.type);
    for (const Member& member : MembersOf(section)) Key(member, path, of_type);
    open_.pop_back();
  }

  [[nodiscard]] std::vector<SchemaKey> TakeKeys() { return std::move(keys_); }

 private:
  void Key(const Member& member, const std::string& path, std::string_view of_type) {
    SchemaKey key = KeyOf(member, Joined(path, member.name));
    key.of_type = of_type;
    key.changes_bits = changes_bits_ && key.changes_bits;
    const std::string here = key.path;
    const bool section_does = std::exchange(changes_bits_, key.changes_bits);
    keys_.push_back(std::move(key));
    Inside(*member.value.type, member.value.at, here);
    changes_bits_ = section_does;
  }

  // Lists the keys below a value; null `at` means a new value.
  void Inside(const Type& type, void* at, const std::string& path) {
    switch (type.kind) {
      case Kind::kOptional:
        return Inside(*type.item, nullptr, path);
      case Kind::kList:
        return Inside(*type.item, nullptr, path + "[]");
      case Kind::kMap:
        return Inside(*type.item, nullptr, Joined(path, "<name>"));
      case Kind::kVariant:
        for (const Type* const alternative : type.alternatives) Inside(*alternative, nullptr, path);
        return;
      case Kind::kSection: {
        const Fresh fresh = at == nullptr ? type.make() : Fresh(nullptr, nullptr);
        return Section({&type, at == nullptr ? fresh.get() : at}, path, type.name);
      }
      default:
        return;
    }
  }

  std::vector<SchemaKey> keys_;
  std::vector<const Type*> open_;
  bool changes_bits_ = true;  // of the current key
};

// Finds the sections that have a key, without descending into types that lack it.
class KeyFinder {
 public:
  explicit KeyFinder(std::string_view key) : key_(key) {}

  [[nodiscard]] std::vector<std::string> Run(const Type& root) {
    Gather(root);
    Mark();
    Inside(root, "");
    return std::move(found_);
  }

 private:
  // The types directly inside a type: its item, alternatives or members.
  struct Inner {
    std::vector<const Type*> types;
    bool leads = false;  // to the key
  };

  void Gather(const Type& type) {
    const auto [at, is_new] = inner_.try_emplace(&type);
    if (!is_new) return;
    Inner& inner = at->second;
    if (type.item != nullptr) inner.types.push_back(type.item);
    inner.types.insert(inner.types.end(), type.alternatives.begin(), type.alternatives.end());
    if (type.kind == Kind::kSection) {
      for (const TypeMember& member : TypeMembersOf(type)) {
        inner.leads = inner.leads || member.name == key_;
        inner.types.push_back(member.type);
      }
    }
    for (const Type* const next : inner.types) Gather(*next);
  }

  // A type leads to the key if a type inside it does.
  void Mark() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [type, inner] : inner_) {
        if (inner.leads || std::none_of(inner.types.begin(), inner.types.end(),
                                        [&](const Type* t) { return inner_.at(t).leads; })) {
          continue;
        }
        inner.leads = changed = true;
      }
    }
  }

  void Inside(const Type& type, const std::string& path) {
    if (!inner_.at(&type).leads) return;
    switch (type.kind) {
      case Kind::kOptional:
        return Inside(*type.item, path);
      case Kind::kList:
        return Inside(*type.item, path + "[]");
      case Kind::kMap:
        return Inside(*type.item, Joined(path, "<name>"));
      case Kind::kVariant:
        for (const Type* const alternative : type.alternatives) Inside(*alternative, path);
        return;
      case Kind::kSection:
        return Section(type, path);
      default:
        return;
    }
  }

  void Section(const Type& type, const std::string& path) {
    if (std::find(open_.begin(), open_.end(), &type) != open_.end()) return;  // as SchemaLister
    open_.push_back(&type);
    for (const TypeMember& member : TypeMembersOf(type)) {
      if (member.name == key_) found_.push_back(path);
      if (inner_.at(member.type).leads) Inside(*member.type, Joined(path, member.name));
    }
    open_.pop_back();
  }

  std::string_view key_;
  std::map<const Type*, Inner> inner_;
  std::vector<const Type*> open_;
  std::vector<std::string> found_;
};

// Lists the paths of one job: walks defaults and tree together; the tree decides names, list items
// and types.
class PathLister {
 public:
  void Inside(const Type& type, void* at, const Node* node, const std::string& path) {
    switch (type.kind) {
      case Kind::kOptional:
        return Inside(*type.item, nullptr, node, path);
      case Kind::kList:
        return Items(*type.item, node, path);
      case Kind::kMap:
        return Entries(*type.item, node, path);
      case Kind::kVariant:
        return Alternatives(type, at, node, path);
      case Kind::kSection:
        return Section(type, at, node, path);
      default:
        return;
    }
  }

  [[nodiscard]] std::vector<ConcreteKey> TakeKeys() { return std::move(keys_); }

 private:
  void Section(const Type& type, void* at, const Node* node, const std::string& path) {
    // Without a node, a struct that contains itself would recurse without end; with a node, the
    // job's text ends it.
    if (node == nullptr && std::find(open_.begin(), open_.end(), &type) != open_.end()) return;
    open_.push_back(&type);
    const Fresh fresh = at == nullptr ? type.make() : Fresh(nullptr, nullptr);
    for (const Member& member : MembersOf({&type, at == nullptr ? fresh.get() : at})) {
      const std::string here = Joined(path, member.name);
      keys_.push_back({here, std::string(member.field.help)});
      const Node* const child = node == nullptr ? nullptr : node->Find(member.name);
      Inside(*member.value.type, member.value.at, child, here);
    }
    open_.pop_back();
  }

  void Items(const Type& item, const Node* node, const std::string& path) {
    if (node == nullptr || node->kind != Node::Kind::kList) return;
    for (size_t i = 0; i < node->children.size(); ++i) {
      Inside(item, nullptr, &node->children[i], fmt::format("{}[{}]", path, i));
    }
  }

  void Entries(const Type& item, const Node* node, const std::string& path) {
    if (node == nullptr || node->kind != Node::Kind::kMap) return;
    for (const Node& child : node->children) {
      const std::string here = Joined(path, child.key);
      keys_.push_back({here, ""});
      Inside(item, nullptr, &child, here);
    }
  }

  // Lists only the type that the job chose, otherwise the default.
  void Alternatives(const Type& variant, void* at, const Node* node, const std::string& path) {
    if (node == nullptr) {
      if (at == nullptr) return;
      return Inside(*variant.alternatives[variant.index(at)], variant.chosen(at), nullptr, path);
    }
    for (const size_t chosen : AlternativesFor(variant, *node)) {
      Inside(*variant.alternatives[chosen], nullptr, node, path);
    }
  }

  std::vector<ConcreteKey> keys_;
  std::vector<const Type*> open_;
};

// Returns the parts as in a sentence: "a, b or c".
std::string Alternatives(const std::vector<std::string>& parts) {
  const std::vector<std::string> first(parts.begin(), parts.end() - 1);
  return first.empty() ? parts.back() : fmt::format("{} or {}", Join(first, ", "), parts.back());
}

std::string VariantText(const Type& variant, const Field& field) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& part) {
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  };
  for (const Type* const type : variant.alternatives) {
    if (type->kind == Kind::kBool) {
      add("true");
      add("false");
    } else if (type->kind == Kind::kPeriod) {
      add("a period");
    } else if (type->kind == Kind::kString && !field.values.empty()) {
      for (const std::string_view word : field.values) add(fmt::format("'{}'", word));
    } else if (!type->name.empty()) {
      add(fmt::format("a section with '{}'", type->type_key));
    } else {
      add(TypeText(*type, field));
    }
  }
  return Alternatives(parts);
}

}  // namespace

SchemaKey KeyOf(const Member& member, std::string path) {
  const Field& field = member.field;
  SchemaKey key;
  key.path = std::move(path);
  key.type = TypeText(*member.value.type, field);
  key.help = field.help;
  key.values.assign(field.values.begin(), field.values.end());
  const std::vector<std::string> names = NamedTypes(*member.value.type);
  key.values.insert(key.values.end(), names.begin(), names.end());
  key.required = field.required;
  key.tpuest = field.tpuest;
  key.changes_bits = field.changes_bits;
  if (!field.required && WasGiven(member.value) &&
      WithoutOptional(*member.value.type).kind != Kind::kSection) {
    key.default_text = FlowText(member.value);
  }
  return key;
}

std::vector<SchemaKey> SchemaOf(const Value& defaults) {
  SchemaLister lister;
  lister.Section(defaults, "", "");
  return lister.TakeKeys();
}

std::vector<std::string> SectionsWithKey(const Type& root, std::string_view key) {
  return KeyFinder(key).Run(root);
}

bool NullIsEmpty(const Value& value, const Field& field) {
  if (field.required) return false;
  if (value.type->kind == Kind::kList) return ItemsOf(value).empty();
  return value.type->formula && static_cast<const Formula*>(value.at)->empty();
}

std::vector<ConcreteKey> ConcreteKeys(const Tree& tree, const Value& defaults) {
  PathLister lister;
  lister.Inside(*defaults.type, defaults.at, &tree.root, "");
  return lister.TakeKeys();
}

std::string TypeText(const Type& type, const Field& field) {
  switch (type.kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return type.set_epochs == nullptr ? "an integer" : "an integer or epochs such as 10ep";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
      break;
    case Kind::kPeriod:
      return "a period such as 500, 2ep, 90s, 10m or 1h";
    case Kind::kRaw:
      return "a value";
    case Kind::kOptional:
      return TypeText(*type.item, field) + " or null";
    case Kind::kList:
      return HoldsSections(*type.item) ? "a list of sections" : "a list";
    case Kind::kMap:
    case Kind::kSection:
      return "a section of keys";
    case Kind::kVariant:
      return VariantText(type, field);
  }
  if (type.formula) return "a formula";
  if (field.values.empty()) return "a string";
  std::vector<std::string> words;
  for (const std::string_view word : field.values) words.push_back(fmt::format("'{}'", word));
  return words.size() == 1 ? words.front() : "one of " + Join(words, ", ");
}

}  // namespace tpuest::config
