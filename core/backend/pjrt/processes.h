#pragma once
// A client whose devices are spread over several processes: what its plugin is told of them, and
// how it reaches them. For the .cpp files of this folder alone.

#include <string>
#include <string_view>
#include <vector>

#include "core/backend/key_values.h"
#include "core/backend/pjrt/c_api.h"
#include "core/backend/pjrt/client_options.h"

namespace tpuest {

// An option that older plugins do not know.
inline constexpr std::string_view kNewestOption = "abort_collectives_on_failure";

// Adds the options by which XLA's GPU plugin knows the others
// (xla/pjrt/c/pjrt_c_api_gpu_internal.cc): node_id and num_nodes; visible_devices, those of
// `visible` (empty: of the machine's), of which several processes of a machine have so many each;
// and as the last kNewestOption. Error kUsage where too few are visible.
void AddProcesses(const PjrtProcesses& processes, int devices_of_each,
                  const std::vector<int64_t>& visible, ClientOptions& options);

// Has a client that is created ask the store for what the processes tell each other. The store
// outlives the client. An Error of the store is the plugin's: UNAVAILABLE.
void UseKeys(KeyValueStore& keys, pjrt::ClientCreateArgs& create);

// The ids of the devices of all processes, by rank: each puts its own and waits for the others'.
// Error kLost where one's do not come, kUsage where they do not have as many.
[[nodiscard]] std::vector<int64_t> DevicesOfAll(const PjrtProcesses& processes,
                                                const std::vector<int64_t>& own);

}  // namespace tpuest
