#include "core/base/process/files.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/process/interrupt.h"
#include "core/base/process/mapping.h"
#include "core/base/process/mounted.h"
#include "core/base/process/system_error.h"
#include "core/base/process/write_permit.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest {
namespace {

// Between a file's name and the process that writes it.
constexpr std::string_view kTemporary = ".tmp.";

namespace fs = std::filesystem;

// The process whose file of a temporary name it is.
std::optional<pid_t> WriterOf(std::string_view name) {
  const size_t at = name.rfind(kTemporary);
  if (at == std::string_view::npos) return std::nullopt;
  const std::optional<pid_t> writer = WholeNumber<pid_t>(name.substr(at + kTemporary.size()));
  return writer && *writer > 0 ? writer : std::nullopt;
}

bool IsRunning(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

void WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    NeedReady(fd, For::kWriting, path);
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      ThrowErrno(path, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void SyncDirectory(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// A device, a pipe or a socket: another file must not take its name.
bool IsWrittenInPlace(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// A file of a file system that does not rename, to be written from its start on. Some of those
// write no file anew, but let it be removed.
int OpenAnew(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  int fd = ::open(path.c_str(), kFlags, 0644);
  if (fd < 0 && ::access(path.c_str(), F_OK) == 0 && ::unlink(path.c_str()) == 0) {
    fd = ::open(path.c_str(), kFlags, 0644);
  }
  return fd;
}

// An fsync that a file system does not have is none that went wrong.
bool Synced(int fd) {
  return ::fsync(fd) == 0 || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL;
}

// A file that the disk cannot tell of is not taken for one that is missing.
fs::file_type TypeOf(const std::string& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (error == std::errc::io_error) {
    errno = error.value();
    ThrowErrno(path, "look at");
  }
  return type;
}

// Makes a folder and those above it: 0, or the errno of what cannot be made. What is not there is
// told by mkdir itself: std::filesystem::create_directories takes a parent that cannot be looked at
// for one that is missing, and goes on without it.
int MadeDirectories(const std::string& path) {
  const auto make = [&] { return ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno; };
  int why = make();
  const std::string parent = DirName(path);
  if (why == ENOENT && !parent.empty() && parent != path) {
    if (const int above = MadeDirectories(parent); above != 0) return above;
    why = make();
  }
  if (why == 0 || why == ENOENT) return why;
  if (TypeOf(path) == fs::file_type::directory) return 0;
  return why == EEXIST ? ENOTDIR : why;
}

struct flock WholeFile(short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return whole;
}

}  // namespace

bool FileExists(const std::string& path) { return TypeOf(path) == fs::file_type::regular; }

bool DirectoryExists(const std::string& path) { return TypeOf(path) == fs::file_type::directory; }

int64_t FileSize(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) ThrowErrno(path, "read");
  return info.st_size;
}

std::optional<std::string_view> KindOfOther(const std::string& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return std::nullopt;
  }
}

std::string ReadFile(const std::string& path) {
  std::optional<std::string> bytes = ReadFileIfThere(path);
  if (!bytes) ThrowErrno(path, "read");
  return std::move(*bytes);
}

// Leaves errno where there is no file.
std::optional<std::string> ReadFileIfThere(const std::string& path) {
  if (const auto other = KindOfOther(path)) {
    throw Error(Code::kData, fmt::format("{}: is {}, expected a file", path, *other));
  }
  const int fd = OpenToRead(path);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (fd < 0) ThrowErrno(path, "read");
  std::string bytes;
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int number = errno;
      ::close(fd);
      errno = number;
      ThrowErrno(path, "read");
    }
    if (n == 0) break;
    bytes.append(chunk, static_cast<size_t>(n));
  }
  ::close(fd);
  return bytes;
}

std::string ReadWords(const std::string& path) {
  std::string text = ReadFile(path);
  int64_t line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > kMostWordBytes) {
      throw Error(Code::kData,
                  fmt::format("{}: line {} is of {} bytes; expected a word of at most {}", path,
                              line, WithCommas(static_cast<int64_t>(end - at)),
                              WithCommas(static_cast<int64_t>(kMostWordBytes))),
                  "one word a line");
    }
    at = end + 1;
  }
  return text;
}

void MakeDirectories(const std::string& path) {
  NeedWritePermit();
  errno = MadeDirectories(path);
  if (errno != 0) ThrowErrno(path, "create this folder");
}

bool RemoveFile(const std::string& path) {
  if (!HasWritePermit()) return false;
  return ::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR;
}

void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
}

std::string MakeTemporaryFolder(std::string_view prefix) {
  const char* const base = std::getenv("TMPDIR");
  const bool is_set = base != nullptr && *base != '\0';
  std::string path = JoinPath(is_set ? base : P_tmpdir, fmt::format("{}.XXXXXX", prefix));
  if (::mkdtemp(path.data()) != nullptr) return path;
  throw Error(Code::kResource,
              fmt::format("{}: cannot create a temporary folder: {}", path, std::strerror(errno)),
              "TMPDIR=DIR names a folder for them");
}

void RenameFolder(const std::string& from, const std::string& to, bool fsync) {
  NeedWritePermit();
  if (::rename(from.c_str(), to.c_str()) != 0) ThrowErrno(to, "be created");
  if (fsync) SyncDirectory(DirName(to).empty() ? "." : DirName(to));
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    names.push_back(entry.path().filename().string());
  }
  if (error) {
    errno = error.value();
    ThrowErrno(path, "list this folder");
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Glob(const std::string& pattern) {
  if (FileExists(pattern)) return {pattern};
  std::vector<std::string> paths = GlobAll(pattern);
  std::erase_if(paths, [](const std::string& path) { return !FileExists(path); });
  return paths;
}

std::vector<std::string> GlobAll(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsTemporaryName(std::string_view name) {
  return name.find(kTemporary) != std::string_view::npos;
}

bool HasLostWriter(std::string_view name) {
  const std::optional<pid_t> writer = WriterOf(name);
  return writer && !IsRunning(*writer);
}

bool HasOtherWriter(std::string_view name) {
  const std::optional<pid_t> writer = WriterOf(name);
  return writer && *writer != ::getpid() && IsRunning(*writer);
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

std::string DirName(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Where files cannot be renamed (core/base/process/mounted.h) the temporary name is the file's own:
// what was there before is gone, and the file is whole once Commit has closed it.
AtomicFile::AtomicFile(std::string path, bool fsync)
    : path_(std::move(path)),
      temporary_(fmt::format("{}{}{}", path_, kTemporary, ::getpid())),
      fsync_(fsync) {
  NeedWritePermit();
  if (IsWrittenInPlace(path_)) {
    temporary_.clear();
    fsync_ = false;
    fd_ = OpenToWrite(path_);
    if (fd_ < 0) ThrowErrno(path_, "open");
    return;
  }
  if (!AbilitiesAt(path_).renames) {
    temporary_ = path_;
    fd_ = OpenAnew(path_);
  } else {
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  }
  if (fd_ < 0) ThrowErrno(path_, "create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  const bool is_own = !temporary_.empty() && temporary_ != path_;
  if (is_own || (temporary_ == path_ && HasWritePermit())) ::unlink(temporary_.c_str());
}

void AtomicFile::Append(std::string_view bytes) {
  if (temporary_.empty() || temporary_ == path_) NeedWritePermit();
  WriteAll(fd_, bytes, path_);
}

void AtomicFile::Commit() {
  if (fsync_ && !Synced(fd_)) ThrowErrno(path_, "flush");
  NeedWritePermit();  // right before it counts
  const int fd = fd_;
  fd_ = -1;
  const bool is_closed = ::close(fd) == 0;
  if (is_closed && (temporary_.empty() || temporary_ == path_)) return;
  if (!is_closed || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    errno = number;
    ThrowErrno(path_, "write");
  }
  if (fsync_) SyncDirectory(DirName(path_).empty() ? "." : DirName(path_));
}

void WriteFileAtomically(const std::string& path, std::string_view bytes, bool fsync) {
  AtomicFile file(path, fsync);
  file.Append(bytes);
  file.Commit();
}

// Where nothing can be appended (core/base/process/mounted.h) there is no descriptor, and the whole
// file is written again.
AppendFile::AppendFile(std::string path) : path_(std::move(path)) {
  if (!AbilitiesAt(path_).appends) {
    if (!FileExists(path_)) WriteFileAtomically(path_, "", /*fsync=*/false);
    return;
  }
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) ThrowErrno(path_, "create");
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

void AppendFile::Append(std::string_view bytes) {
  NeedWritePermit();
  if (fd_ >= 0) return WriteAll(fd_, bytes, path_);
  if (bytes.empty()) return;
  std::string whole = ReadFileIfThere(path_).value_or("");
  whole += bytes;
  WriteFileAtomically(path_, whole, /*fsync=*/false);
}

MappedFile::MappedFile(const std::string& path) {
  // A pipe would be waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) ThrowErrno(path, "read");
  struct stat info {};
  const bool has_size = ::fstat(fd, &info) == 0;
  if (has_size && S_ISFIFO(info.st_mode)) {
    ::close(fd);
    throw Error(Code::kData, fmt::format("{}: is a pipe, expected a file", path));
  }
  size_ = static_cast<size_t>(info.st_size);
  void* const data = size_ == 0 ? nullptr : ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  const int number = errno;
  ::close(fd);
  if (!has_size || data == MAP_FAILED) {
    errno = number;
    ThrowErrno(path, has_size ? "map" : "read");
  }
  data_ = static_cast<const char*>(data);
  if (data_ != nullptr) WatchMapping(data_, size_);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  ForgetMapping(data_);
  ::munmap(const_cast<char*>(data_), size_);
}

// The lock belongs to the open file, not to the process (F_OFD_SETLK), so a second one in this
// process is refused too; and unlike flock's it can be asked for without being taken.
std::unique_ptr<FileLock> FileLock::TryAcquire(const std::string& path) {
  NeedWritePermit();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) ThrowErrno(path, "create");
  struct flock whole = WholeFile(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    const int number = errno;
    ::close(fd);
    if (number == EAGAIN || number == EACCES) return nullptr;
    errno = number;
    ThrowErrno(path, "lock");
  }
  return std::unique_ptr<FileLock>(new FileLock(fd));
}

std::unique_ptr<FileLock> FileLock::TryAcquireFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return nullptr;
    ThrowErrno(path, "open");
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return std::unique_ptr<FileLock>(new FileLock(fd));
  const int number = errno;
  ::close(fd);
  if (number == EWOULDBLOCK) return nullptr;
  errno = number;
  ThrowErrno(path, "lock");
}

bool FileLock::IsHeld(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return false;
    ThrowErrno(path, "open");
  }
  struct flock whole = WholeFile(F_WRLCK);
  const bool is_known = ::fcntl(fd, F_OFD_GETLK, &whole) == 0;
  ::close(fd);
  return is_known && whole.l_type != F_UNLCK;
}

FileLock::~FileLock() { ::close(fd_); }

}  // namespace tpuest
