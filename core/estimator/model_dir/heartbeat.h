#pragma once
// Locks on a mounted bucket, if it has any, exist on this machine only. So a process that trains
// there writes every 20 seconds to .tpuest/heartbeat.json that it still does, in a separate thread:
//
//   {"host":"h0","pid":4711,"run":"8f0a...","time":1795623845.5}
//
// A heartbeat younger than a minute keeps other processes out; "run" identifies its writer.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/clock.h"

namespace tpuest {

inline constexpr double kBeatFreshSecs = 60;

// Whether a process has written in the last minute that it trains in model_dir. A process of this
// machine that no longer exists does not count.
[[nodiscard]] bool HasFreshBeat(const std::string& model_dir, double wall_seconds);

class Heartbeat {
 public:
  struct Args {
    std::string model_dir;  // .tpuest is in this folder
    const Clock& clock;     // outlives it
    std::function<bool()> gives_up = [] { return false; };
  };
  // Begins to beat. If another process has a fresh heartbeat, waits until that is a minute old.
  // Returns nullptr if a newer one appears meanwhile; `other` then names the process that trains
  // there. A heartbeat that cannot be read counts as fresh.
  [[nodiscard]] static std::unique_ptr<Heartbeat> TryBegin(const Args& args, std::string& other);
  // Removes the file if it still belongs to this process.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  Heartbeat(const Args& args, std::string run);
  void Beat() const;
  void Work();

  Args args_;
  const std::string run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tpuest
