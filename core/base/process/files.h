#pragma once
// Files and folders. Every failure throws: kResource if the disk, the quota or the file size limit
// is exhausted, kUsage if a permission is missing or the disk is read-only, otherwise kData.
// Functions that change a file need the write permit (core/base/process/write_permit.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Throws kResource if the disk fails.
[[nodiscard]] bool FileExists(const std::string& path);
[[nodiscard]] bool DirectoryExists(const std::string& path);
// The size in bytes.
[[nodiscard]] int64_t FileSize(const std::string& path);
// The kind of a path that is not a file: "a folder", "a pipe", "a device" or "a socket"; nullopt
// for a file or a missing path.
[[nodiscard]] std::optional<std::string_view> KindOfOther(const std::string& path);
// The whole content of a file. Throws kData for other kinds of paths, which may be endless.
[[nodiscard]] std::string ReadFile(const std::string& path);
// The same, but nullopt if the file does not exist or was just removed.
[[nodiscard]] std::optional<std::string> ReadFileIfThere(const std::string& path);
// ReadFile for a file of words, one per line: kData also for a line of more than kMostWordBytes.
[[nodiscard]] std::string ReadWords(const std::string& path);
inline constexpr size_t kMostWordBytes = size_t{1} << 20;
void MakeDirectories(const std::string& path);
// Removes the file if it exists. Returns whether it is gone; without a write permit it stays.
bool RemoveFile(const std::string& path);
// Removes a folder of this process with its contents, if it exists.
void RemoveTree(const std::string& path);
// Creates an empty folder for this process below TMPDIR (default: /tmp); its name begins with
// `prefix`. The caller removes it. Throws kResource if that is impossible.
[[nodiscard]] std::string MakeTemporaryFolder(std::string_view prefix);
// Renames a folder to an unused name; `fsync` waits until the change is on disk.
void RenameFolder(const std::string& from, const std::string& to, bool fsync = true);
// Entries of a folder, sorted, without "." and "..".
[[nodiscard]] std::vector<std::string> ListDirectory(const std::string& path);
// Files that match a shell pattern, sorted; a path without *, ?, [ matches itself if it exists.
[[nodiscard]] std::vector<std::string> Glob(const std::string& pattern);
// Like Glob, including folders, pipes and devices.
[[nodiscard]] std::vector<std::string> GlobAll(const std::string& pattern);
// Whether the name is the temporary name of an AtomicFile.
[[nodiscard]] bool IsTemporaryName(std::string_view name);
// Whether it is the temporary name of a process of this machine that no longer runs.
[[nodiscard]] bool HasLostWriter(std::string_view name);
// Whether it is the temporary name of another running process of this machine.
[[nodiscard]] bool HasOtherWriter(std::string_view name);
[[nodiscard]] std::string JoinPath(std::string_view folder, std::string_view name);
[[nodiscard]] std::string DirName(std::string_view path);
[[nodiscard]] std::string BaseName(std::string_view path);

// Writes a file under a temporary name; Commit renames it after an fsync, and destruction without
// Commit removes it. On a device or a pipe every Append writes directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, bool fsync = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void Append(std::string_view bytes);
  void Commit();

 private:
  std::string path_;
  std::string temporary_;
  bool fsync_;
  int fd_ = -1;
};

void WriteFileAtomically(const std::string& path, std::string_view bytes, bool fsync = true);

// A file opened for appending; each Append reaches the kernel before it returns.
class AppendFile {
 public:
  explicit AppendFile(std::string path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  void Append(std::string_view bytes);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

// A whole file, mapped read-only.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// An exclusive advisory lock on a file, held until destroyed; nullptr if another process holds it.
// The lock ends with its process, however that ends.
class FileLock {
 public:
  [[nodiscard]] static std::unique_ptr<FileLock> TryAcquire(const std::string& path);
  // The same for a folder; also nullptr if it does not exist. The folder may be removed while
  // locked. Throws kData on a file system without such locks.
  [[nodiscard]] static std::unique_ptr<FileLock> TryAcquireFolder(const std::string& path);
  // Whether any process holds the lock; does not take it. The file may be missing.
  [[nodiscard]] static bool IsHeld(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tpuest
