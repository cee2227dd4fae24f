#pragma once
// What the processes of a client of several devices tell each other by name: a plugin's own way to
// have them meet.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

// Any thread. A key is put once; its value stays.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  // Error kLost where a process is lost.
  virtual void Put(std::string_view key, std::string_view value) = 0;
  // The value, once a process has put it; nullopt after so many seconds without it. 0: at once.
  // Error kLost where a process is lost.
  [[nodiscard]] virtual std::optional<std::string> Get(std::string_view key, double seconds) = 0;
};

// One process of a client whose devices are spread over several.
struct PjrtProcesses {
  int rank = 0;
  int size = 1;
  KeyValueStore* keys = nullptr;  // nullptr: there is one process
  // The processes share one machine, and with it its devices: each takes as many as it needs, by
  // its rank.
  bool share_machine = false;
};

}  // namespace tpuest
