#pragma once
// The folder of an export: written as <base>/temp-<seconds>, then renamed to <base>/<seconds>, by
// which servers find the newest one. Destroyed without Commit it leaves nothing.

#include <string>
#include <vector>

#include "core/base/log.h"

namespace tpuest {

class ExportFolder {
 public:
  // `now`: seconds since the epoch. Where a folder of that second is there already the next one is
  // taken, and the log says so. Error kResource after ten tries.
  ExportFolder(const std::string& base, double now, Log& log);
  ~ExportFolder();
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // The path it has then.
  std::string Commit(bool fsync);

 private:
  std::string path_;
  std::string temporary_;
  bool made_base_ = false;
  std::string base_;
};

// The exports in `base`, oldest first: only names of exactly 10 digits are one's.
[[nodiscard]] std::vector<std::string> ExportsIn(const std::string& base);
// Removes from `base` what was left by exports that were cut.
void RemoveUnfinishedExports(const std::string& base);
// The time for a new export that is to be the newest one there, though some may have been made in
// the same second.
[[nodiscard]] double TimeOfNewest(const std::string& base, double now);

}  // namespace tpuest
