#pragma once
// The options that a plugin's client is made with. For the .cpp files of this folder alone.

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
  // Leaves out the last one.
  void DropLast() { options_.pop_back(); }

  // Of this object, until the next change.
  [[nodiscard]] std::vector<pjrt::NamedValue> Values() const;

 private:
  struct Option {
    std::string name;
    std::variant<int64_t, std::vector<int64_t>, bool, float> value;
  };
  std::vector<Option> options_;
};

// Adds what is said of the GPUs' memory: preallocate and memory_fraction.
void AddGpuOptions(const PjrtGpuOptions& gpu, ClientOptions& options);

}  // namespace tpuest
