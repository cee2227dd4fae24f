#pragma once
// What the file system of a folder can do. Object stores are mounted through FUSE (gcsfuse,
// mountpoint-s3, s3fs, goofys), and some of them have no way to rename a file or to append to it;
// an object appears there when its file is closed.

#include <string>

namespace tpuest {

struct FolderAbilities {
  bool is_mounted = false;  // by FUSE: a bucket, as a rule
  bool renames = true;      // a file over another one
  bool appends = true;
};

// Of a folder, or of the nearest one above that is there. What FUSE has mounted is tried with two
// small files, once a process and file system.
[[nodiscard]] FolderAbilities AbilitiesOf(const std::string& folder);

// The same of the folder that a file stands in.
[[nodiscard]] FolderAbilities AbilitiesAt(const std::string& path);

}  // namespace tpuest
