#pragma once
// The options and callbacks by which the plugins of several processes find each other. Only for the
// .cpp files of this folder.

#include <string>
#include <string_view>
#include <vector>

#include "core/backend/key_values.h"
#include "core/backend/pjrt/c_api.h"
#include "core/backend/pjrt/client_options.h"

namespace tpuest {

// An option that older plugins lack.
inline constexpr std::string_view kNewestOption = "abort_collectives_on_failure";

// Adds the options that describe the processes to XLA's GPU plugin
// (xla/pjrt/c/pjrt_c_api_gpu_internal.cc): node_id and num_nodes; visible_devices, this process's
// `devices_of_each` devices among `visible` (empty: all devices of the machine) if several
// processes share the machine; and finally kNewestOption. Throws kUsage if too few devices are
// visible.
void AddProcesses(const PjrtProcesses& processes, int devices_of_each,
                  const std::vector<int64_t>& visible, ClientOptions& options);

// Lets the client that is created exchange data with other processes through the store, which
// outlives the client. The plugin receives an Error of the store as UNAVAILABLE.
void UseKeys(KeyValueStore& keys, pjrt::ClientCreateArgs& create);

// Returns the ids of the devices of all processes, by rank: each process puts its own and waits for
// those of its peers. Throws kLost if a process does not put its ids, kUsage if the numbers of
// devices differ.
[[nodiscard]] std::vector<int64_t> DevicesOfAll(const PjrtProcesses& processes,
                                                const std::vector<int64_t>& own);

}  // namespace tpuest
