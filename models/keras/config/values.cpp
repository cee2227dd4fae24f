#include "models/keras/config/values.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "core/base/text.h"
#include "core/nn/constraints.h"
#include "core/nn/initializers.h"
#include "core/nn/regularizers.h"

namespace tpuest {
namespace {

// "Package>Name" without the package, and Keras 2.2's "GlorotUniformV2" and so on without that.
std::string BareClass(std::string name) {
  const size_t package = name.find('>');
  if (package != std::string::npos) name = name.substr(package + 1);
  return name;
}

// The struct of `kinds`, an optional or a variant of structs, that a class of Keras' or a word for
// one names; null: none.
const config::Type* FindKind(const config::Type& kinds, const std::string& name) {
  if (kinds.kind == config::Type::Kind::kOptional) return FindKind(*kinds.item, name);
  for (const config::Type* const kind : kinds.alternatives) {
    if (config::IsNameOf(*kind, name)) return kind;
  }
  return nullptr;
}

// {type: max_norm, max_value: 2, axis: 0}: the arguments that `config` says.
KerasJson SectionOf(const config::Type& kind, const KerasJson& config) {
  KerasJson section = {{"type", kind.name}};
  for (const config::TypeMember& member : config::TypeMembersOf(kind)) {
    const KerasJson given = Unwrapped(MemberOf(config, member.name));
    if (!given.is_null()) section[std::string(member.name)] = ShortNumbers(given);
  }
  return section;
}

std::string NameIn(const KerasJson& value) {
  return value.is_string() ? value.get<std::string>() : BareClass(WordOf(value, "class_name"));
}

double NumberIn(const KerasJson& config, std::string_view key, double otherwise) {
  const KerasJson& value = MemberOf(config, key);
  return value.is_number() ? value.get<double>() : otherwise;
}

}  // namespace

KerasJson ShortNumbers(const KerasJson& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const auto single = static_cast<float>(number);
    if (!std::isfinite(number) || static_cast<double>(single) != number) return value;
    return KerasJson(std::stod(fmt::format("{}", single)));
  }
  if (!value.is_array() && !value.is_object()) return value;
  KerasJson copy = value;
  for (auto& item : copy) item = ShortNumbers(item);
  return copy;
}

KerasJson Unwrapped(const KerasJson& value) {
  if (value.is_object()) {
    const std::string name = WordOf(value, "class_name");
    const KerasJson& items = MemberOf(value, "items");
    if (name == "__numpy__") return MemberOf(MemberOf(value, "config"), "value");
    if ((name == "__tuple__" || name == "TensorShape") && items.is_array()) return Unwrapped(items);
    return value;
  }
  if (!value.is_array()) return value;
  KerasJson copy = KerasJson::array();
  for (const KerasJson& item : value) copy.push_back(Unwrapped(item));
  return copy;
}

KerasJson OneOfEqual(const KerasJson& value) {
  if (!value.is_array() || value.empty()) return value;
  for (const KerasJson& item : value) {
    if (item != value.front() || !item.is_number()) return value;
  }
  return value.front();
}

KerasJson JsonOf(const config::Value& value) {
  using Kind = config::Type::Kind;
  switch (value.type->kind) {
    case Kind::kBool:
      return *static_cast<const bool*>(value.at);
    case Kind::kInteger:
      return KerasJson::parse(value.type->integer_text(value.at));
    case Kind::kNumber:
      return *static_cast<const double*>(value.at);
    case Kind::kString:
      return *static_cast<const std::string*>(value.at);
    case Kind::kOptional: {
      const std::vector<config::Item> items = config::ItemsOf(value);
      return items.empty() ? KerasJson() : JsonOf(items.front().value);
    }
    case Kind::kList: {
      KerasJson list = KerasJson::array();
      for (const config::Item& item : config::ItemsOf(value)) list.push_back(JsonOf(item.value));
      return list;
    }
    case Kind::kVariant: {
      const size_t index = value.type->index(value.at);
      return JsonOf({value.type->alternatives[index], value.type->chosen(value.at)});
    }
    case Kind::kSection:
      return config::TypeMembersOf(*value.type).empty() ? KerasJson(value.type->name) : KerasJson();
    case Kind::kMap:
    case Kind::kPeriod:
    case Kind::kRaw:
      break;
  }
  return nullptr;
}

KerasJson InitializerOf(const KerasJson& value) {
  const config::Type* const kind = FindKind(*config::TypeOf<nn::Initializer>(), NameIn(value));
  if (kind == nullptr) return nullptr;
  if (config::TypeMembersOf(*kind).empty()) return std::string(kind->name);
  return SectionOf(*kind, MemberOf(value, "config"));
}

KerasJson RegularizerOf(const KerasJson& value) {
  if (value.is_null()) return nullptr;
  const std::string name = NameIn(value);
  const config::Type* const kind = FindKind(*config::TypeOf<nn::Regularizer>(), name);
  if (kind == nullptr) {
    RefuseKeras(fmt::format("the regularizer '{}' is not supported", name), "l1, l2 or both");
  }
  const KerasJson& config = MemberOf(value, "config");
  // L1L2 without arguments is no penalty.
  const double l1 = NumberIn(config, "l1", kind->name == "l1" ? nn::L1Regularizer().l1 : 0);
  const double l2 = NumberIn(config, "l2", kind->name == "l2" ? nn::L2Regularizer().l2 : 0);
  if (l1 == 0 && l2 == 0) return nullptr;
  KerasJson section;
  section["type"] = l1 == 0 ? "l2" : l2 == 0 ? "l1" : "l1_l2";
  if (l1 != 0) section["l1"] = ShortNumbers(l1);
  if (l2 != 0) section["l2"] = ShortNumbers(l2);
  return section;
}

KerasJson ConstraintOf(const KerasJson& value) {
  if (value.is_null()) return nullptr;
  const std::string name = NameIn(value);
  const config::Type* const kind = FindKind(*config::TypeOf<nn::Constraint>(), name);
  if (kind != nullptr) return SectionOf(*kind, MemberOf(value, "config"));
  RefuseKeras(fmt::format("the constraint '{}' is not supported", name),
              "max_norm, min_max_norm, non_neg, unit_norm or radial_constraint");
}

std::string FunctionNameOf(const KerasJson& value, std::string_view what) {
  if (value.is_null()) return "linear";
  if (value.is_string()) return BareClass(value.get<std::string>());
  if (WordOf(value, "class_name") == "function") {
    const KerasJson& config = MemberOf(value, "config");
    if (config.is_string()) return BareClass(config.get<std::string>());
  }
  RefuseKeras(fmt::format("its {} is not a function of Keras: {}", what,
                          WordOf(value, "class_name").empty() ? "?" : WordOf(value, "class_name")),
              "use a separate layer instead");
}

std::string PolicyOf(const KerasJson& dtype) {
  if (dtype.is_string()) return dtype.get<std::string>();
  return WordOf(MemberOf(dtype, "config"), "name");
}

const KerasJson& MemberOf(const KerasJson& object, std::string_view key) {
  static const KerasJson kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(std::string(key));
  return found == object.end() ? kNull : *found;
}

std::string WordOf(const KerasJson& object, std::string_view key) {
  const KerasJson& value = MemberOf(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace tpuest
