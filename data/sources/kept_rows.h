#pragma once
// Records kept as their columns' values, in memory or in a file that later runs find again.
// See kept_rows.cpp.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// Bytes that grow without being copied, as large as they are in memory.
class RowBytes {
 public:
  RowBytes() = default;
  ~RowBytes();
  RowBytes(const RowBytes&) = delete;
  RowBytes& operator=(const RowBytes&) = delete;

  // Throws std::bad_alloc.
  void Append(const void* bytes, size_t size);
  void Append(std::string_view bytes) { Append(bytes.data(), bytes.size()); }
  void Clear() { size_ = 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Gathers records of these columns.
class RowKeeper {
 public:
  explicit RowKeeper(std::vector<TensorSpec> columns) : columns_(std::move(columns)) {}
  // Writes the row behind those before; the bytes of all of them are this class's format.
  void Add(const Row& row, RowBytes& bytes) const;

 private:
  std::vector<TensorSpec> columns_;
};

// Records in the bytes of a RowKeeper: ends[i] is where record i ends. `keep` owns the bytes.
[[nodiscard]] std::shared_ptr<IndexedSource> KeptRows(std::vector<TensorSpec> columns,
                                                      std::vector<std::string> files,
                                                      std::string_view bytes,
                                                      std::vector<uint64_t> ends,
                                                      std::shared_ptr<const void> keep);

// All options of a source, as one number.
[[nodiscard]] uint64_t FingerprintOf(const SourceOptions& options);

// The records of the source out of the file at `path`, which is written first where it is not
// there, or was written of other files or options. `fingerprint` is that of the options.
[[nodiscard]] std::shared_ptr<IndexedSource> KeepInFile(AnySource source, const std::string& path,
                                                        uint64_t fingerprint);

}  // namespace tpuest::data
