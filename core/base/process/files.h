#pragma once
// Files and folders. Every failure is an Error: kResource where the disk, the quota or the limit on
// the size of files is exhausted, kUsage where a permission is missing or the disk is read-only,
// kData for all else. What changes a file asks for the write permit
// (core/base/process/write_permit.h).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// Error kResource where the disk cannot tell.
[[nodiscard]] bool FileExists(const std::string& path);
[[nodiscard]] bool DirectoryExists(const std::string& path);
// The size in bytes.
[[nodiscard]] int64_t FileSize(const std::string& path);
// What stands at a path that is no file: "a folder", "a pipe", "a device" or "a socket"; nullopt
// for a file, and where there is nothing.
[[nodiscard]] std::optional<std::string_view> KindOfOther(const std::string& path);
// All of a file; for what is none, which may have no end, kData.
[[nodiscard]] std::string ReadFile(const std::string& path);
// The same, but nullopt if there is no such file, even if it went away a moment ago.
[[nodiscard]] std::optional<std::string> ReadFileIfThere(const std::string& path);
// ReadFile for a file of words, one per line: kData also for a line of more than kMostWordBytes.
[[nodiscard]] std::string ReadWords(const std::string& path);
inline constexpr size_t kMostWordBytes = size_t{1} << 20;
void MakeDirectories(const std::string& path);
// Removes the file if it is there. Whether it is gone; without a write permit it stays.
bool RemoveFile(const std::string& path);
// Removes a folder of this process's own with all that it holds, if it is there.
void RemoveTree(const std::string& path);
// A new, empty folder of this process's own below TMPDIR (/tmp unless set); its name begins with
// `prefix`. The caller removes it. Error kResource where none can be made.
[[nodiscard]] std::string MakeTemporaryFolder(std::string_view prefix);
// Gives a folder another name, which must be free; `fsync` waits until the disk has it.
void RenameFolder(const std::string& from, const std::string& to, bool fsync = true);
// Entries of a folder, sorted, without "." and "..".
[[nodiscard]] std::vector<std::string> ListDirectory(const std::string& path);
// Files that match a shell pattern, sorted; a path without *, ?, [ matches itself if it exists.
[[nodiscard]] std::vector<std::string> Glob(const std::string& pattern);
// The same with folders, pipes and devices.
[[nodiscard]] std::vector<std::string> GlobAll(const std::string& pattern);
// Whether a file is one that an AtomicFile has begun.
[[nodiscard]] bool IsTemporaryName(std::string_view name);
// Whether it is one of a process of this machine that does not run any more.
[[nodiscard]] bool HasLostWriter(std::string_view name);
// Whether it is one of a process of this machine that runs and is not this one.
[[nodiscard]] bool HasOtherWriter(std::string_view name);
[[nodiscard]] std::string JoinPath(std::string_view folder, std::string_view name);
[[nodiscard]] std::string DirName(std::string_view path);
[[nodiscard]] std::string BaseName(std::string_view path);

// A file under a temporary name beside its own, which Commit gives it after an fsync; destroyed
// without Commit it leaves nothing. A device or a pipe is written as it stands, by every Append.
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
  // The same on a folder, also nullptr where there is none; the folder may be removed with it.
  // Error kData on a file system without such locks.
  [[nodiscard]] static std::unique_ptr<FileLock> TryAcquireFolder(const std::string& path);
  // Says whether any process holds the lock, without taking it. The file may be missing.
  [[nodiscard]] static bool IsHeld(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tpuest
