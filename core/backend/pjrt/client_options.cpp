#include "core/backend/pjrt/client_options.h"

#include <utility>

namespace tpuest {

void ClientOptions::Add(std::string_view name, int64_t value) {
  options_.push_back({std::string(name), value});
}

void ClientOptions::Add(std::string_view name, std::vector<int64_t> values) {
  options_.push_back({std::string(name), std::move(values)});
}

void ClientOptions::Add(std::string_view name, bool value) {
  options_.push_back({std::string(name), value});
}

void ClientOptions::Add(std::string_view name, float value) {
  options_.push_back({std::string(name), value});
}

std::vector<pjrt::NamedValue> ClientOptions::Values() const {
  std::vector<pjrt::NamedValue> values;
  for (const Option& option : options_) {
    pjrt::NamedValue& value = values.emplace_back();
    value.name = option.name.data();
    value.name_size = option.name.size();
    value.value_size = 1;
    if (const auto* const numbers = std::get_if<std::vector<int64_t>>(&option.value)) {
      value.type = pjrt::NamedValueType::kInt64List;
      value.int64_array_value = numbers->data();
      value.value_size = numbers->size();
    } else if (const auto* const number = std::get_if<int64_t>(&option.value)) {
      value.type = pjrt::NamedValueType::kInt64;
      value.int64_value = *number;
    } else if (const auto* const is_on = std::get_if<bool>(&option.value)) {
      value.type = pjrt::NamedValueType::kBool;
      value.bool_value = *is_on;
    } else {
      value.type = pjrt::NamedValueType::kFloat;
      value.float_value = std::get<float>(option.value);
    }
  }
  return values;
}

void AddGpuOptions(const PjrtGpuOptions& gpu, ClientOptions& options) {
  if (gpu.preallocate) options.Add("preallocate", *gpu.preallocate);
  if (gpu.memory_fraction) {
    options.Add("memory_fraction", static_cast<float>(*gpu.memory_fraction));
  }
}

}  // namespace tpuest
