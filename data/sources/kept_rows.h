#pragma once
// Keeps records as their columns' values, in memory or in a file that later runs reuse. See
// kept_rows.cpp.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// A growing byte buffer that is not copied when it grows and reserves no extra memory.
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

// Serializes records with these columns.
class RowKeeper {
 public:
  explicit RowKeeper(std::vector<TensorSpec> columns) : columns_(std::move(columns)) {}
  // Appends the row to the bytes of the previous rows, in this class's format.
  void Add(const Row& row, RowBytes& bytes) const;

 private:
  std::vector<TensorSpec> columns_;
};

// A source over the bytes of a RowKeeper: ends[i] is the end of record i. `keep` owns the bytes.
[[nodiscard]] std::shared_ptr<IndexedSource> KeptRows(std::vector<TensorSpec> columns,
                                                      std::vector<std::string> files,
                                                      std::string_view bytes,
                                                      std::vector<uint64_t> ends,
                                                      std::shared_ptr<const void> keep);

// A hash of all options of a source.
[[nodiscard]] uint64_t FingerprintOf(const SourceOptions& options);

// The records of the source, read from the file at `path`. Writes that file first if it is missing
// or was written from other files or options. `fingerprint` is that of the options.
[[nodiscard]] std::shared_ptr<IndexedSource> KeepInFile(AnySource source, const std::string& path,
                                                        uint64_t fingerprint);

}  // namespace tpuest::data
