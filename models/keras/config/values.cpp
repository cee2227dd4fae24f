#include "models/keras/config/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"

namespace tpuest {
namespace {

struct InitializerRule {
  std::string_view keras;
  std::string_view type;
  std::array<std::string_view, 3> keys = {};
};
constexpr std::array kInitializers = {
    InitializerRule{"Zeros", "zeros"},
    InitializerRule{"Ones", "ones"},
    InitializerRule{"Constant", "constant", {"value"}},
    InitializerRule{"RandomUniform", "random_uniform", {"minval", "maxval"}},
    InitializerRule{"RandomNormal", "random_normal", {"mean", "stddev"}},
    InitializerRule{"TruncatedNormal", "truncated_normal", {"mean", "stddev"}},
    InitializerRule{"VarianceScaling", "variance_scaling", {"scale", "mode", "distribution"}},
    InitializerRule{"GlorotUniform", "glorot_uniform"},
    InitializerRule{"GlorotNormal", "glorot_normal"},
    InitializerRule{"HeUniform", "he_uniform"},
    InitializerRule{"HeNormal", "he_normal"},
    InitializerRule{"LecunUniform", "lecun_uniform"},
    InitializerRule{"LecunNormal", "lecun_normal"},
};

// "Package>Name" without the package, and Keras 2.2's "GlorotUniformV2" and so on without that.
std::string BareClass(std::string name) {
  const size_t package = name.find('>');
  if (package != std::string::npos) name = name.substr(package + 1);
  return name;
}

struct ConstraintRule {
  std::string_view keras;
  std::string_view type;
  std::string_view legacy = "";  // Keras 2's shorter name
  std::array<std::string_view, 4> keys = {};
};
constexpr std::array kConstraints = {
    ConstraintRule{"MaxNorm", "max_norm", "maxnorm", {"max_value", "axis"}},
    ConstraintRule{"MinMaxNorm", "min_max_norm", "", {"min_value", "max_value", "rate", "axis"}},
    ConstraintRule{"NonNeg", "non_neg", "nonneg"},
    ConstraintRule{"UnitNorm", "unit_norm", "unitnorm", {"axis"}},
    ConstraintRule{"RadialConstraint", "radial_constraint"},
};

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

KerasJson InitializerOf(const KerasJson& value) {
  const std::string name =
      value.is_string() ? value.get<std::string>() : BareClass(WordOf(value, "class_name"));
  const KerasJson& config = value.is_object() ? MemberOf(value, "config") : MemberOf(value, "");
  for (const InitializerRule& rule : kInitializers) {
    if (name != rule.keras && name != rule.type) continue;
    if (rule.keys.front().empty()) return std::string(rule.type);
    KerasJson section = {{"type", rule.type}};
    for (const std::string_view key : rule.keys) {
      const KerasJson& given = MemberOf(config, key);
      if (!key.empty() && !given.is_null()) section[std::string(key)] = ShortNumbers(given);
    }
    return section;
  }
  return nullptr;
}

KerasJson RegularizerOf(const KerasJson& value) {
  if (value.is_null()) return nullptr;
  const std::string name =
      value.is_string() ? value.get<std::string>() : BareClass(WordOf(value, "class_name"));
  const KerasJson& config = MemberOf(value, "config");
  const double l1 = NumberIn(config, "l1", name == "L1" || name == "l1" ? 0.01 : 0);
  const double l2 = NumberIn(config, "l2", name == "L2" || name == "l2" ? 0.01 : 0);
  const bool known = name == "L1" || name == "L2" || name == "L1L2" || name == "l1" ||
                     name == "l2" || name == "l1_l2";
  if (!known) RefuseKeras(fmt::format("the regularizer '{}' is not known", name), "l1, l2 or both");
  if (l1 == 0 && l2 == 0) return nullptr;
  KerasJson section;
  section["type"] = l1 == 0 ? "l2" : l2 == 0 ? "l1" : "l1_l2";
  if (l1 != 0) section["l1"] = ShortNumbers(l1);
  if (l2 != 0) section["l2"] = ShortNumbers(l2);
  return section;
}

KerasJson ConstraintOf(const KerasJson& value) {
  if (value.is_null()) return nullptr;
  const std::string name =
      value.is_string() ? value.get<std::string>() : BareClass(WordOf(value, "class_name"));
  const KerasJson& config = MemberOf(value, "config");
  for (const ConstraintRule& rule : kConstraints) {
    if (name != rule.keras && name != rule.type && (name != rule.legacy || name.empty())) continue;
    KerasJson section = {{"type", rule.type}};
    for (const std::string_view key : rule.keys) {
      const KerasJson given = Unwrapped(MemberOf(config, key));
      if (!key.empty() && !given.is_null()) section[std::string(key)] = ShortNumbers(given);
    }
    return section;
  }
  RefuseKeras(fmt::format("the constraint '{}' is not known here", name),
              "max_norm, min_max_norm, non_neg, unit_norm or radial_constraint");
}

std::string FunctionNameOf(const KerasJson& value, std::string_view what) {
  if (value.is_null()) return "linear";
  if (value.is_string()) return BareClass(value.get<std::string>());
  if (WordOf(value, "class_name") == "function") {
    const KerasJson& config = MemberOf(value, "config");
    if (config.is_string()) return BareClass(config.get<std::string>());
  }
  RefuseKeras(fmt::format("its {} is no function of Keras' own: {}", what,
                          WordOf(value, "class_name").empty() ? "?" : WordOf(value, "class_name")),
              "a layer of its own instead");
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
