#include "core/backend/pjrt/tpu_memory.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace tpuest {
namespace {

struct Generation {
  std::string_view name;
  int64_t gib_of_chip;
  int64_t devices_of_chip;
};
constexpr Generation kGenerations[] = {
    {"v2", 16, 2},  {"v3", 32, 2},  {"v4", 32, 1},     {"v5e", 16, 1},
    {"v5p", 95, 1}, {"v6e", 32, 1}, {"tpu7x", 192, 2},
};

}  // namespace

int64_t TpuMemoryBytes(std::string_view topology) {
  std::string name(topology.substr(0, topology.find_first_of(":=")));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Generation& generation : kGenerations) {
    if (generation.name == name) {
      return (generation.gib_of_chip << 30) / generation.devices_of_chip;
    }
  }
  return 0;
}

}  // namespace tpuest
