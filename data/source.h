#pragma once
// Sources of records. A source is opened once, never changes, and may be read from several threads;
// data that can only be read in order are a StreamedSource, which one thread reads.

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// The values of one column in one example, row-major: `count` of them, of the column's dtype;
// strings are std::string_view.
struct Values {
  const void* data = nullptr;
  int64_t count = 0;
};

// One example. Its views are valid until the next read into the same Row.
struct Row {
  std::vector<Values> columns;  // as Source::columns()
  Provenance from;
  // The number of records that the reader will read after this one before it skips some; a source
  // reads no further ahead. -1: not known.
  int64_t records_after = -1;
  // Memory for columns that a source computes while it reads; Values point into it.
  std::string_view text;
  int64_t number = 0;
  std::vector<uint8_t> bytes;
  // State that a source keeps between reads into this row (a window of the file, split fields).
  struct State {
    State() = default;
    virtual ~State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
  };
  std::unique_ptr<State> state;
};

// The columns and files of a source, for either way of reading its records.
class Source {
 public:
  Source(std::vector<TensorSpec> columns, std::vector<std::string> files)
      : columns_(std::move(columns)), files_(std::move(files)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // Paths, or the source's type if it has no files. Provenance::file is an index into the list.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<TensorSpec> columns_;
  std::vector<std::string> files_;
};

// Records that can be read in any order, so a full shuffle and an exact resume cost nothing.
class IndexedSource : public Source {
 public:
  using Source::Source;
  [[nodiscard]] virtual int64_t size() const = 0;
  // The value that Read stores in row.from, computed without reading the record.
  [[nodiscard]] virtual Provenance From(int64_t index) const = 0;
  // Fills row.columns and row.from with record `index`, 0..size()-1. Any thread, each with its own
  // Row. Throws kData, with the place, for an unreadable record.
  virtual void Read(int64_t index, Row& row) const = 0;
};

// Decodes a streamed record's bytes into columns. Any thread.
class RowDecoder {
 public:
  RowDecoder() = default;
  virtual ~RowDecoder() = default;
  RowDecoder(const RowDecoder&) = delete;
  RowDecoder& operator=(const RowDecoder&) = delete;
  // Fills row.columns; row.from is already set, and `bytes` outlive the columns. Throws kData with
  // the place.
  virtual void Decode(std::string_view bytes, Row& row) const = 0;
};

// Byte-string records that can only be read front to back: compressed files that are not cached,
// and the output of programs. One thread at a time.
class StreamedSource : public Source {
 public:
  using Source::Source;
  // Starts over: the next record is the first one.
  virtual void Rewind() = 0;
  // Reads the next record's bytes, valid until the next call; returns false at the end. Throws
  // kData for a damaged file.
  [[nodiscard]] virtual bool Next(std::string_view& bytes, Provenance& from) = 0;
  // For live input: waits up to `wait_ms` and returns whether the next record, or the end, is
  // available.
  [[nodiscard]] virtual bool IsThere(int /*wait_ms*/) { return true; }
  // The decoder of records; nullptr: the bytes are the only column, a string [].
  [[nodiscard]] virtual std::shared_ptr<const RowDecoder> decoder() const { return nullptr; }
};

using AnySource = std::variant<std::shared_ptr<IndexedSource>, std::unique_ptr<StreamedSource>>;

// Records skip..skip+take-1 of another source, as far as they exist; the source itself if that
// includes all of them. Throws kUsage at key.skip or key.take for a negative number, and kData at
// `key` if no record is left.
[[nodiscard]] std::shared_ptr<IndexedSource> Slice(std::shared_ptr<IndexedSource> source,
                                                   const RecordRange& range,
                                                   const std::string& key);
// The files that names and shell patterns match, in the order of `names`; the matches of a pattern
// are sorted. Throws at `key`, the option's key path: kUsage if `names` is empty, kData for a
// missing file and for a pattern without a match.
[[nodiscard]] std::vector<std::string> FindFiles(const std::vector<std::string>& names,
                                                 const std::string& key);
// Throws Error kUsage, at key.skip or key.take, for a negative skip and for a take below -1.
void CheckRange(const RecordRange& range, const std::string& key);

// The column of sources whose records are byte strings: `serialized`, a string [].
[[nodiscard]] TensorSpec SerializedColumn();

}  // namespace tpuest::data
