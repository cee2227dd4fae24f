#pragma once
// The options for creating a plugin's client. Only for the .cpp files of this folder.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/backend/pjrt/c_api.h"
#include "core/backend/pjrt/client.h"

namespace tpuest {

class ClientOptions {
 public:
  void Add(std::string_view name, int64_t value);
  void Add(std::string_view name, std::vector<int64_t> values);
  void Add(std::string_view name, bool value);
  void Add(std::string_view name, float value);
  // Removes the last option.
  void DropLast() { options_.pop_back(); }

  // Points into this object; valid until its next change.
  [[nodiscard]] std::vector<pjrt::NamedValue> Values() const;

 private:
  struct Option {
    std::string name;
    std::variant<int64_t, std::vector<int64_t>, bool, float> value;
  };
  std::vector<Option> options_;
};

// Adds the options of GPU memory that are set: preallocate and memory_fraction.
void AddGpuOptions(const PjrtGpuOptions& gpu, ClientOptions& options);

}  // namespace tpuest
