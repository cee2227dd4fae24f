#pragma once
// A client whose devices are spread over several processes: what its plugin is told of them, and
// how it reaches them. For the .cpp files of this folder alone.

#include <string>
#include <string_view>
#include <vector>

#include "core/backend/key_values.h"
#include "core/backend/pjrt/c_api.h"

namespace tpuest {

// The options that a plugin's client is made with.
class ClientOptions {
 public:
  void Add(std::string_view name, int64_t value);
  void Add(std::string_view name, std::vector<int64_t> values);
  void AddSwitch(std::string_view name);
  // Leaves out the last one.
  void DropLast() { options_.pop_back(); }

  // Of this object, until the next change.
  [[nodiscard]] std::vector<pjrt::NamedValue> Values() const;

 private:
  struct Option {
    std::string name;
    pjrt::NamedValueType type;
    std::vector<int64_t> values;
  };
  std::vector<Option> options_;
};

// An option that older plugins do not know.
inline constexpr std::string_view kNewestOption = "abort_collectives_on_failure";

// The options by which XLA's GPU plugin knows the others (xla/pjrt/c/pjrt_c_api_gpu_internal.cc):
// node_id and num_nodes; visible_devices where several processes have a machine's devices, so many
// each; and as the last kNewestOption.
[[nodiscard]] ClientOptions OptionsOf(const PjrtProcesses& processes, int devices_of_each);

// Has a client that is created ask the store for what the processes tell each other. The store
// outlives the client. An Error of the store is the plugin's: UNAVAILABLE.
void UseKeys(KeyValueStore& keys, pjrt::ClientCreateArgs& create);

// The ids of the devices of all processes, by rank: each puts its own and waits for the others'.
// Error kLost where one's do not come, kUsage where they do not have as many.
[[nodiscard]] std::vector<int64_t> DevicesOfAll(const PjrtProcesses& processes,
                                                const std::vector<int64_t>& own);

}  // namespace tpuest
