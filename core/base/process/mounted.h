#pragma once
// The abilities of a folder's file system. Object stores are mounted through FUSE (gcsfuse,
// mountpoint-s3, s3fs, goofys), and some of them can neither rename a file nor append to it; an
// object appears when its file is closed.

#include <string>

namespace tpuest {

struct FolderAbilities {
  bool is_mounted = false;  // mounted by FUSE, usually a bucket
  bool renames = true;      // can rename a file over an existing one
  bool appends = true;
};

// The abilities of a folder, or of its nearest existing parent. Tries a FUSE file system with two
// small files, once per process and file system.
[[nodiscard]] FolderAbilities AbilitiesOf(const std::string& folder);

// The abilities of the folder that contains a file.
[[nodiscard]] FolderAbilities AbilitiesAt(const std::string& path);

}  // namespace tpuest
