#pragma once
// run_config.mirror: a copy of model_dir in another folder, such as a bucket that is mounted, which
// a thread of its own makes behind the training.
//
// A copy is made in the order of a checkpoint's commit: what the state file `checkpoint` names is
// read first; then all files are copied, an index once its shards are there, and it is read back;
// at last the state files, as they were at the beginning. So whatever the mirror names is whole
// there, wherever the process is killed. What the run has removed is removed at the end, an index
// first.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/log.h"

namespace tpuest::cli {

// Copies a run's folder into another, again and again.
class RunCopy {
 public:
  // Neither lies in the other.
  RunCopy(std::string from, std::string to)
      : from_(std::move(from)), to_(std::move(to)), begun_(In(from_)) {}
  // Copies what the other folder does not have, and removes what the run has removed since this
  // was made, and checkpoints that it does not have. Throws what files throw.
  void Make();
  // How many files the last one copied.
  [[nodiscard]] int64_t copied() const { return copied_; }

 private:
  struct Stamp {
    int64_t bytes = 0;
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Files = std::map<std::string, Stamp>;  // by path below the folder

  [[nodiscard]] static Files In(const std::string& folder);
  void FindCopies(const Files& files);
  void Copy(const std::string& name, const Stamp& stamp);
  [[nodiscard]] bool HasAllOf(const std::string& state) const;
  void WriteState(const std::string& name, const std::string& text);
  void RemoveGone(const Files& files);

  const std::string from_;
  const std::string to_;
  const Files begun_;  // what was there when this was made
  bool is_first_ = true;
  Files copies_;  // those that are in the other folder as they were
  int64_t copied_ = 0;
};

class Mirror {
 public:
  // Begins to copy; the log and the folders outlive it.
  Mirror(const std::string& model_dir, const std::string& to, Log& log);
  // Ends without another copy.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  // Makes the last copy, which holds the end of the run. Throws what files throw.
  void Finish();

 private:
  void Work();
  void Stop();

  const std::string model_dir_;
  const std::string to_;
  Log& log_;
  RunCopy copy_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

// Where model_dir has no run and the mirror has one: brings it back.
void BringBack(const std::string& mirror, const std::string& model_dir, Log& log);
// Whether the folder has nothing of a run.
[[nodiscard]] bool HasNoRun(const std::string& model_dir);

}  // namespace tpuest::cli
