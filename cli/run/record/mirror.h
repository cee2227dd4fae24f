#pragma once
// run_config.mirror: a copy of model_dir in another folder, such as a mounted bucket, which a
// background thread makes during training.
//
// A copy follows the order of a checkpoint's commit. It first reads the state file `checkpoint`;
// then it copies all files, an index after its shards, and reads the index back; last it copies the
// state files as they were at the beginning. So every checkpoint that the mirror's state file names
// is complete in the mirror, even if the process is killed. Files that the run has removed are
// removed at the end, an index first.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/base/log.h"

namespace tpuest::cli {

// Copies a run's folder into another, repeatedly.
class RunCopy {
 public:
  // Neither folder may lie in the other.
  RunCopy(std::string from, std::string to)
      : from_(std::move(from)), to_(std::move(to)), begun_(In(from_)) {}
  // Copies the files that the other folder lacks. Removes files that the run has removed since this
  // object was made, and checkpoints that the run does not have. Throws the errors of reading and
  // writing files.
  void Make();
  // Number of files that the last Make copied.
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
  const Files begun_;  // files in the other folder when this object was made
  bool is_first_ = true;
  Files copies_;  // files whose copies are up to date
  int64_t copied_ = 0;
};

class Mirror {
 public:
  // Starts to copy; the log and the folders must outlive it.
  Mirror(const std::string& model_dir, const std::string& to, Log& log);
  // Ends without another copy.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  // Makes the last copy, which includes the end of the run. Throws the errors of reading and
  // writing files.
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

// Copies the mirror's run back if model_dir has no run.
void BringBack(const std::string& mirror, const std::string& model_dir, Log& log);
// Returns true if the folder has neither checkpoints nor records of a run.
[[nodiscard]] bool HasNoRun(const std::string& model_dir);

}  // namespace tpuest::cli
