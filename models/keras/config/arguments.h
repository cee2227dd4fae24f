#pragma once
// The arguments of Keras' losses, metrics, optimizers and schedules, which structs of core/nn
// declare under Keras' names. Private to this folder.

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "models/keras/config/values.h"

namespace tpuest {

// The `config` of an object. Every key must be taken or ignored, so that none is overlooked.
class KerasConfig {
 public:
  // `config` outlives it; if it is not an object, it has no keys.
  explicit KerasConfig(const KerasJson& config) : config_(config) {}

  // Takes a key and returns its value, or null if it is missing.
  [[nodiscard]] const KerasJson& Take(std::string_view key);
  // Takes keys that change nothing here, whatever their values.
  void Ignore(std::initializer_list<std::string_view> keys);
  // Throws KerasRefusal if a key has a value other than null and `usual`, which is Keras' default.
  void Expect(std::string_view key, const KerasJson& usual, const std::string& hint = "");
  // Throws KerasRefusal for a key that was not taken and whose value is not null.
  void Finish() const;

 private:
  const KerasJson& config_;
  std::set<std::string, std::less<>> taken_;
};

// Converts values of Keras to the form that a struct's field takes. Throw KerasRefusal, with the
// key, for values of another kind.
[[nodiscard]] KerasJson ValueFor(const bool& field, std::string_view key, const KerasJson& given,
                                 const Field& about);
[[nodiscard]] KerasJson ValueFor(const int64_t& field, std::string_view key, const KerasJson& given,
                                 const Field& about);
[[nodiscard]] KerasJson ValueFor(const double& field, std::string_view key, const KerasJson& given,
                                 const Field& about);
[[nodiscard]] KerasJson ValueFor(const std::string& field, std::string_view key,
                                 const KerasJson& given, const Field& about);
[[nodiscard]] KerasJson ValueFor(const Period& field, std::string_view key, const KerasJson& given,
                                 const Field& about);
// Whether a field of this type can be read.
template <class T>
concept ReadableArgument = requires(const T& item, const KerasJson& given, const Field& about) {
  ValueFor(item, std::string_view(), given, about);
};
template <ReadableArgument T>
[[nodiscard]] KerasJson ValueFor(const std::vector<T>& /*field*/, std::string_view key,
                                 const KerasJson& given, const Field& about) {
  if (!given.is_array()) RefuseKeras(fmt::format("{} is {}, expected a list", key, given.dump()));
  KerasJson values = KerasJson::array();
  for (const KerasJson& item : given) values.push_back(ValueFor(T(), key, item, about));
  return values;
}
template <ReadableArgument T>
[[nodiscard]] KerasJson ValueFor(const std::optional<T>& /*field*/, std::string_view key,
                                 const KerasJson& given, const Field& about) {
  return ValueFor(T(), key, given, about);
}
// A number, or a list of numbers.
template <ReadableArgument T>
[[nodiscard]] KerasJson ValueFor(const std::variant<T, std::vector<T>>& /*field*/,
                                 std::string_view key, const KerasJson& given, const Field& about) {
  return given.is_array() ? ValueFor(std::vector<T>(), key, given, about)
                          : ValueFor(T(), key, given, about);
}

// Writes the section for a struct's keys that a configuration sets, in the order in which the
// struct visits them.
class ArgumentSection {
 public:
  // `config` outlives it.
  explicit ArgumentSection(KerasConfig& config) : config_(config) {}

  // Declares Keras' name of a key that a job names differently.
  void Rename(std::string_view job, std::string_view keras) {
    renamed_job_ = job;
    renamed_keras_ = keras;
  }

  template <class T>
  void operator()(std::string_view key, T& value, const Field& field) {
    if constexpr (ReadableArgument<T>) {
      if (field.tpuest) return;
      const std::string_view keras = key == renamed_job_ ? renamed_keras_ : key;
      const KerasJson given = ShortNumbers(Unwrapped(config_.Take(keras)));
      if (given.is_null()) return;
      section_[std::string(key)] = ValueFor(value, keras, given, field);
    }
  }

  [[nodiscard]] KerasJson Take() { return std::move(section_); }

 private:
  KerasConfig& config_;
  std::string_view renamed_job_;
  std::string_view renamed_keras_;
  KerasJson section_ = KerasJson::object();
};

}  // namespace tpuest
