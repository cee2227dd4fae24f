#include "models/keras/config/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace tpuest {
namespace {

// A whole number, however it is written: 5 and 5.0.
std::optional<int64_t> WholeIn(const KerasJson& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  constexpr double kMost = 9.0e15;
  if (std::abs(number) > kMost || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

[[noreturn]] void RefuseValue(std::string_view key, const KerasJson& given,
                              std::string_view expected) {
  RefuseKeras(fmt::format("{} is {}, expected {}", key, given.dump(), expected));
}

}  // namespace

const KerasJson& KerasConfig::Take(std::string_view key) {
  taken_.emplace(key);
  return MemberOf(config_, key);
}

void KerasConfig::Ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) taken_.emplace(key);
}

void KerasConfig::Expect(std::string_view key, const KerasJson& usual, const std::string& hint) {
  const KerasJson& given = Take(key);
  if (given.is_null() || given == usual) return;
  RefuseKeras(fmt::format("{} is {}, which is not supported", key, given.dump()),
              hint.empty() ? fmt::format("{}: {}", key, usual.dump()) : hint);
}

void KerasConfig::Finish() const {
  if (!config_.is_object()) return;
  for (const auto& [key, value] : config_.items()) {
    if (value.is_null() || taken_.contains(key)) continue;
    RefuseKeras(fmt::format("'{}' is not supported: {}", key, value.dump()));
  }
}

KerasJson ValueFor(const bool& /*field*/, std::string_view key, const KerasJson& given,
                   const Field& /*about*/) {
  if (!given.is_boolean()) RefuseValue(key, given, "true or false");
  return given;
}

KerasJson ValueFor(const int64_t& /*field*/, std::string_view key, const KerasJson& given,
                   const Field& /*about*/) {
  const std::optional<int64_t> whole = WholeIn(given);
  if (!whole) RefuseValue(key, given, "an integer");
  return *whole;
}

KerasJson ValueFor(const double& /*field*/, std::string_view key, const KerasJson& given,
                   const Field& /*about*/) {
  if (!given.is_number()) RefuseValue(key, given, "a number");
  return given;
}

KerasJson ValueFor(const std::string& /*field*/, std::string_view key, const KerasJson& given,
                   const Field& about) {
  const bool is_one =
      about.values.empty() ||
      (given.is_string() && std::find(about.values.begin(), about.values.end(),
                                      given.get<std::string>()) != about.values.end());
  if (!given.is_string() || !is_one) {
    const std::vector<std::string> values(about.values.begin(), about.values.end());
    RefuseValue(key, given, values.empty() ? "a word" : "one of " + Join(values, ", "));
  }
  return given;
}

KerasJson ValueFor(const Period& /*field*/, std::string_view key, const KerasJson& given,
                   const Field& /*about*/) {
  const std::optional<int64_t> whole = WholeIn(given);
  if (!whole) RefuseValue(key, given, "whole steps");
  return *whole;
}

}  // namespace tpuest
