#pragma once
// Where records come from. A source is opened once, never changes, and may be read from several
// threads; what cannot be read out of order is a StreamedSource, read by one thread.

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest {

// The values of one column in one example, row-major; strings are std::string_view.
struct Values {
  const void* data = nullptr;
  int64_t count = 0;
};

// One example. What it points to stays until the next read into the same Row.
struct Row {
  std::vector<Values> columns;  // as Source::columns()
  Provenance from;
  // Memory for columns that a source makes while it reads.
  std::string_view text;
  int64_t number = 0;
  std::vector<uint8_t> bytes;
  // Anything else that a source keeps between its reads into this row.
  struct State {
    State() = default;
    virtual ~State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
  };
  std::unique_ptr<State> state;
};

class Source {
 public:
  Source(std::vector<TensorSpec> columns, std::vector<std::string> files)
      : columns_(std::move(columns)), files_(std::move(files)) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // Provenance::file is an index into these.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<TensorSpec> columns_;
  std::vector<std::string> files_;
};

class IndexedSource : public Source {
 public:
  using Source::Source;
  [[nodiscard]] virtual int64_t size() const = 0;
  // index < size().
  virtual void Read(int64_t index, Row& row) const = 0;
};

// Records are byte strings: the one column is `serialized`.
class StreamedSource : public Source {
 public:
  using Source::Source;
  // The next record is the first one.
  virtual void Rewind() = 0;
  // The next record's bytes, valid until the next call; false at the end.
  [[nodiscard]] virtual bool Next(std::string_view& bytes, Provenance& from) = 0;
};

using AnySource = std::variant<std::shared_ptr<IndexedSource>, std::unique_ptr<StreamedSource>>;

// Records first..first+size-1 of another source; the source itself where that is all of it.
[[nodiscard]] std::shared_ptr<IndexedSource> Slice(std::shared_ptr<IndexedSource> source,
                                                   const RecordRange& range,
                                                   const std::string& key);
// The files that names and shell patterns stand for, in this order, a pattern's sorted.
// Error for none: kUsage if nothing is named, else kData. `key` is the option's.
[[nodiscard]] std::vector<std::string> FindFiles(const std::vector<std::string>& names,
                                                 const std::string& key);
// Throws Error kUsage for a negative skip or take.
void CheckRange(const RecordRange& range, const std::string& key);

// The column of sources whose records are byte strings.
[[nodiscard]] TensorSpec SerializedColumn();

}  // namespace tpuest
