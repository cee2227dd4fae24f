#include "core/io/data_shard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/process/system_error.h"

namespace tpuest {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

}  // namespace

DataShard::DataShard(std::string path) : path_(std::move(path)) {
  if (!FileExists(path_)) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: is missing, the checkpoint's index names it", path_));
  }
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) ThrowErrno(path_, "read", Code::kCheckpoint);
  size_ = static_cast<uint64_t>(FileSize(path_));
}

DataShard::~DataShard() { ::close(fd_); }

void DataShard::Read(uint64_t offset, char* into, size_t size) const {
  while (size > 0) {
    const ssize_t n = ::pread(fd_, into, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) ThrowErrno(path_, fmt::format("read at byte {}", offset), Code::kCheckpoint);
    if (n == 0) {
      throw Error(Code::kCheckpoint,
                  fmt::format("{}: cannot read at byte {}: the file ends there", path_, offset));
    }
    into += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
}

void DataShardWriter::Append(std::string_view bytes) {
  size_ += static_cast<int64_t>(bytes.size());
  if (bytes.size() >= kWriteBytes) {
    Flush();
    file_.Append(bytes);
    return;
  }
  buffer_ += bytes;
  if (buffer_.size() >= kWriteBytes) Flush();
}

void DataShardWriter::Commit() {
  Flush();
  file_.Commit();
}

void DataShardWriter::Flush() {
  file_.Append(buffer_);
  buffer_.clear();
}

}  // namespace tpuest
