#pragma once
// The key-value store through which the processes of a PJRT client find each other.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

// Any thread. A key is put once; its value stays.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  // Error kLost if a process is lost.
  virtual void Put(std::string_view key, std::string_view value) = 0;
  // Waits up to `seconds` (0: not at all) until a process has put the key; nullopt if none has.
  // Error kLost if a process is lost.
  [[nodiscard]] virtual std::optional<std::string> Get(std::string_view key, double seconds) = 0;
};

// One process of a client whose devices are spread over several.
struct PjrtProcesses {
  int rank = 0;
  int size = 1;
  KeyValueStore* keys = nullptr;  // nullptr: there is one process
  // Whether the processes run on one machine and share its devices: each takes as many as it needs,
  // in order of ranks.
  bool share_machine = false;
};

}  // namespace tpuest
