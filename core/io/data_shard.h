#pragma once
// A bundle's data shard, read by position: threads never move each other's place.

#include <cstdint>
#include <string>

namespace tpuest {

// Errors are of Code::kCheckpoint.
class DataShard {
 public:
  explicit DataShard(std::string path);
  ~DataShard();
  DataShard(const DataShard&) = delete;
  DataShard& operator=(const DataShard&) = delete;

  // Reads `size` bytes, which must be there.
  void Read(uint64_t offset, char* into, size_t size) const;
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace tpuest
