#pragma once
// The folder of an export: written as <base>/temp-<seconds>, then renamed to <base>/<seconds>, by
// which servers find the newest one. Its destructor without Commit removes the files. The writing
// process holds a lock on the folder, so that the folder of a killed process can be recognized.
//
// Folders on a mounted bucket cannot be renamed: the export is written to a local temporary folder,
// and Commit copies it, saved_model.pb last, because servers ignore a folder without that file.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/process/files.h"

namespace tpuest {

// The name of an unfinished export: this, then the seconds.
inline constexpr std::string_view kUnfinishedExport = "temp-";

class ExportFolder {
 public:
  // `now` is in seconds since the epoch. If a folder of that second exists, takes the next second
  // and logs that. Throws Error kResource after ten tries.
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
  bool is_copied_ = false;  // temporary_ is on another file system
  bool made_base_ = false;
  std::string base_;
};

// Returns the exports in `base`, oldest first: the folders whose names are exactly 10 digits.
[[nodiscard]] std::vector<std::string> ExportsIn(const std::string& base);
// Removes the unfinished exports in `base` that no process writes any more.
void RemoveUnfinishedExports(const std::string& base);
// Removes an export; servers never see a part of it.
void RemoveExport(const std::string& path);
// Returns the time (seconds since the epoch) for a new export that is later than all existing ones,
// even those of the same second.
[[nodiscard]] double TimeOfNewest(const std::string& base, double now);

}  // namespace tpuest
