#pragma once
// A list that collects faults, so that all faults of a job are reported together.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

class Faults {
 public:
  Faults() = default;
  // Keys passed to the functions below are relative to this section ("eval_spec.valid"); "" is the
  // section itself.
  explicit Faults(std::string section) : section_(std::move(section)) {}

  void Add(Fault fault) { list_.push_back(std::move(fault)); }
  void AddAll(std::vector<Fault> faults);
  // Adds a fault of a key; its place is found later.
  void Say(std::string_view key, std::string message, std::string hint = "");
  // Adds a fault of that key if the condition is false.
  void Expect(bool holds, std::string_view key, std::string message, std::string hint = "") {
    if (!holds) Say(key, std::move(message), std::move(hint));
  }
  // TensorFlow's check_positive_integer for an optional value; `name` is the key's name in the
  // message.
  template <class T>
  void ExpectPositive(const std::optional<T>& value, std::string_view key, std::string_view name) {
    if (value) Expect(*value > 0, key, fmt::format("{} must be positive, got {}", name, *value));
  }
  // Adds the faults of an Error that the body throws.
  template <class Body>
  void Catch(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      AddAll(error.faults());
    }
  }

  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] const std::vector<Fault>& list() const { return list_; }
  [[nodiscard]] std::vector<Fault> Take() { return std::exchange(list_, {}); }
  // Throws an Error with all faults, if there are any.
  void ThrowAny(Code code) {
    if (!empty()) throw Error(code, Take());
  }

 private:
  std::string section_;
  std::vector<Fault> list_;
};

}  // namespace tpuest
