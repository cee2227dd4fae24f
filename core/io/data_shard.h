#pragma once
// A bundle's data shard.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/process/files.h"

namespace tpuest {

// A shard for reading. Reads by position, so threads do not interfere. Errors are of
// Code::kCheckpoint.
class DataShard {
 public:
  explicit DataShard(std::string path);
  ~DataShard();
  DataShard(const DataShard&) = delete;
  DataShard& operator=(const DataShard&) = delete;

  // Reads `size` bytes; throws if the file has fewer.
  void Read(uint64_t offset, char* into, size_t size) const;
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// A shard for writing, from start to end. Leaves no file without Commit. Errors are those of files.
class DataShardWriter {
 public:
  DataShardWriter(std::string path, bool fsync) : file_(std::move(path), fsync) {}

  void Append(std::string_view bytes);
  [[nodiscard]] int64_t size() const { return size_; }
  void Commit();

 private:
  void Flush();

  AtomicFile file_;
  std::string buffer_;
  int64_t size_ = 0;
};

}  // namespace tpuest
