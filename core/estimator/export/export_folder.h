#pragma once
// The folder of an export: it is written as <base>/temp-<seconds>, then renamed to
// <base>/<seconds>, by which servers find the newest one. Destroyed without Commit it leaves
// nothing. While it is written its process holds a lock on it, so that one whose process was killed
// can be told.
//
// On a mounted bucket no folder is renamed: the export is written to a temporary folder of this
// machine, and Commit copies it, saved_model.pb last, without which no server takes it for one.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/process/files.h"

namespace tpuest {

// Its name until then: this and the seconds.
inline constexpr std::string_view kUnfinishedExport = "temp-";

class ExportFolder {
 public:
  // `now` is in seconds since the epoch. Where a folder of that second is there already, the next
  // second is taken, and the log says so. Error kResource after ten tries.
  ExportFolder(const std::string& base, double now, Log& log);
  ~ExportFolder();
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  // The path to write the export to, before Commit.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // Renames or copies the folder and returns its path.
  std::string Commit(bool fsync);

 private:
  [[nodiscard]] bool Make();
  void CopyToBucket(bool fsync) const;

  std::string path_;
  std::string temporary_;
  std::unique_ptr<FileLock> lock_;
  bool is_copied_ = false;  // temporary_ is elsewhere
  bool made_base_ = false;
  std::string base_;
};

// The exports in `base`, oldest first: the folders whose names are exactly 10 digits.
[[nodiscard]] std::vector<std::string> ExportsIn(const std::string& base);
// Removes from `base` the folders of exports that nobody writes any more.
void RemoveUnfinishedExports(const std::string& base);
// Removes an export. No server finds a part of one.
void RemoveExport(const std::string& path);
// The time (seconds since the epoch) for a new export that is to be the newest one there, though
// others may be of the same second.
[[nodiscard]] double TimeOfNewest(const std::string& base, double now);

}  // namespace tpuest
