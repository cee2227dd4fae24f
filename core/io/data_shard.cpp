#include "core/io/data_shard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/files.h"

namespace tpuest {

DataShard::DataShard(std::string path) : path_(std::move(path)) {
  if (!FileExists(path_)) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: is missing, the checkpoint's index names it", path_));
  }
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) {
    throw Error(Code::kCheckpoint, fmt::format("{}: cannot read: {}", path_, std::strerror(errno)));
  }
  size_ = static_cast<uint64_t>(FileSize(path_));
}

DataShard::~DataShard() { ::close(fd_); }

void DataShard::Read(uint64_t offset, char* into, size_t size) const {
  while (size > 0) {
    const ssize_t n = ::pread(fd_, into, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw Error(Code::kCheckpoint,
                  fmt::format("{}: cannot read at byte {}: {}", path_, offset,
                              n < 0 ? std::strerror(errno) : "the file ends there"));
    }
    into += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

}  // namespace tpuest
