#pragma once
// Sources give records. A source is opened once, never changes, and may be read from several
// threads; what cannot be read out of order is a StreamedSource, read by one thread.

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

// One example. What it points to stays until the next read into the same Row.
struct Row {
  std::vector<Values> columns;  // as Source::columns()
  Provenance from;
  // How many records the reader goes on to after this one, where it leaves out what follows them: a
  // source reads no further ahead. -1: not known.
  int64_t records_after = -1;
  // Memory for columns that a source makes while it reads: Values point into it.
  std::string_view text;
  int64_t number = 0;
  std::vector<uint8_t> bytes;
  // A source's own memory between its reads into this row (a window of the file, split fields).
  struct State {
    State() = default;
    virtual ~State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
  };
  std::unique_ptr<State> state;
};

// Columns and files of a source: what is the same whichever way its records are read.
class Source {
 public:
  Source(std::vector<TensorSpec> columns, std::vector<std::string> files)
      : columns_(std::move(columns)), files_(std::move(files)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // Paths, or the source's type where it has no file; Provenance::file is an index into them.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<TensorSpec> columns_;
  std::vector<std::string> files_;
};

// Records that can be read in any order, so that a full shuffle and an exact resume cost nothing.
class IndexedSource : public Source {
 public:
  using Source::Source;
  [[nodiscard]] virtual int64_t size() const = 0;
  // What Read puts into row.from, without a look at the record.
  [[nodiscard]] virtual Provenance From(int64_t index) const = 0;
  // Fills row.columns and row.from with record `index`, 0..size()-1. Any thread, each with its own
  // Row. Throws Error kData, with its place, for a record that cannot be read.
  virtual void Read(int64_t index, Row& row) const = 0;
};

// Makes columns of a streamed record's bytes. Any thread.
class RowDecoder {
 public:
  RowDecoder() = default;
  virtual ~RowDecoder() = default;
  RowDecoder(const RowDecoder&) = delete;
  RowDecoder& operator=(const RowDecoder&) = delete;
  // Fills row.columns; row.from is there, and `bytes` stay as long as the columns. Throws Error
  // kData, with its place.
  virtual void Decode(std::string_view bytes, Row& row) const = 0;
};

// Records that can only be read front to back (compressed files, where they are not cached, and
// what programs write): byte strings. One thread at a time.
class StreamedSource : public Source {
 public:
  using Source::Source;
  // Begins again: the next record is the first one.
  virtual void Rewind() = 0;
  // The next record's bytes, valid until the next call; false at the end. Throws Error kData where
  // the file is damaged.
  [[nodiscard]] virtual bool Next(std::string_view& bytes, Provenance& from) = 0;
  // Of live input: whether the next record, or the end, is there within so many milliseconds.
  [[nodiscard]] virtual bool IsThere(int /*wait_ms*/) { return true; }
  // nullptr: the bytes are the one column, a string [].
  [[nodiscard]] virtual std::shared_ptr<const RowDecoder> decoder() const { return nullptr; }
};

using AnySource = std::variant<std::shared_ptr<IndexedSource>, std::unique_ptr<StreamedSource>>;

// Records skip..skip+take-1 of another source, as many as there are; the source itself where that
// is all of it. Throws Error kUsage at key.skip or key.take for a negative number, and kData at
// `key` where no record is left.
[[nodiscard]] std::shared_ptr<IndexedSource> Slice(std::shared_ptr<IndexedSource> source,
                                                   const RecordRange& range,
                                                   const std::string& key);
// The files that names and shell patterns stand for, in this order, the matches of a pattern
// sorted. Throws Error at `key`, the option's key path: kUsage if nothing is named, kData for a
// file that is not there and for a pattern without a match.
[[nodiscard]] std::vector<std::string> FindFiles(const std::vector<std::string>& names,
                                                 const std::string& key);
// Throws Error kUsage, at key.skip or key.take, for a negative skip and for a take below -1.
void CheckRange(const RecordRange& range, const std::string& key);

// The column of sources whose records are byte strings: `serialized`, a string [].
[[nodiscard]] TensorSpec SerializedColumn();

}  // namespace tpuest::data
