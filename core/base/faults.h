#pragma once
// One list that gathers faults, so that all that is wrong with a job is told at once.

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
  // Keys that are expected of stand below this section ("eval_spec.valid"); "" is the section.
  explicit Faults(std::string section) : section_(std::move(section)) {}

  void Add(Fault fault) { list_.push_back(std::move(fault)); }
  void AddAll(std::vector<Fault> faults);
  // A fault of a key, whose place is found later.
  void Say(std::string_view key, std::string message, std::string hint = "");
  // A fault of that key where the condition does not hold.
  void Expect(bool holds, std::string_view key, std::string message, std::string hint = "") {
    if (!holds) Say(key, std::move(message), std::move(hint));
  }
  // TensorFlow's check_positive_integer of a value that may be absent; `name` is what the message
  // calls the key.
  template <class T>
  void ExpectPositive(const std::optional<T>& value, std::string_view key, std::string_view name) {
    if (value) Expect(*value > 0, key, fmt::format("{} must be positive, got {}", name, *value));
  }
  // The faults of an Error that the body throws.
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
  // An Error with all of them, where there is one.
  void ThrowAny(Code code) {
    if (!empty()) throw Error(code, Take());
  }

 private:
  std::string section_;
  std::vector<Fault> list_;
};

}  // namespace tpuest
