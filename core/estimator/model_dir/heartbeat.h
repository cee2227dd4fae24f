#pragma once
// Locks of a mounted bucket are this machine's alone, if there are any. So whoever trains in one
// writes every 20 seconds into .tpuest/heartbeat.json that it still does, from a thread of its own:
//
//   {"host":"h0","pid":4711,"run":"8f0a...","time":1795623845.5}
//
// One that is younger than a minute keeps others away; "run" tells its writer from all others.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/clock.h"

namespace tpuest {

inline constexpr double kBeatFreshSecs = 60;

// Whether somebody has written in the last minute that it trains in model_dir. One of this machine
// whose process is gone does not count.
[[nodiscard]] bool HasFreshBeat(const std::string& model_dir, double wall_seconds);

class Heartbeat {
 public:
  struct Args {
    std::string model_dir;  // whose .tpuest is there
    const Clock& clock;     // outlives it
    std::function<bool()> gives_up = [] { return false; };
  };
  // Begins to beat. Where a fresh beat of another process is there it waits until that has the age,
  // and is beaten by none that comes meanwhile: nullptr, and `other` says who trains there. One
  // that cannot be read is as young.
  [[nodiscard]] static std::unique_ptr<Heartbeat> TryBegin(const Args& args, std::string& other);
  // Removes the file, if it is still this one's.
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
