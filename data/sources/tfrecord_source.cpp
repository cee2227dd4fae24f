// TFRecord files as one sequence of records, file after file. Uncompressed files are mapped and
// indexed; compressed files are streamed, or inflated into memory if the job caches them.

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "core/io/tfrecord.h"
#include "data/sources/file_bytes.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// The row's text is the column's only value; it points into a mapped file or kept memory.
void SetText(std::string_view bytes, Row& row) {
  row.text = bytes;
  row.columns.assign(1, {&row.text, 1});
}

// Calls fn(i) for 0..n-1 on up to `threads` threads; throws the error of the lowest i.
template <class Fn>
void ForEach(int64_t n, int64_t threads, Fn fn) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(n));
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    for (int64_t i = next++; i < n; i = next++) {
      try {
        fn(i);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> workers;
  for (int64_t i = 1; i < std::min(n, threads); ++i) workers.emplace_back(work);
  work();
  workers.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Uncompressed files: mapped, with the offset of each record (8 bytes), found by reading the
// lengths. Checksums of the data are verified when a record is read, not here.
class MappedRecords final : public IndexedSource {
 public:
  MappedRecords(const std::vector<std::string>& paths, int64_t threads)
      : IndexedSource({SerializedColumn()}, paths), files_(paths.size()), offsets_(paths.size()) {
    ForEach(static_cast<int64_t>(paths.size()), threads, [&](int64_t i) {
      const auto file = static_cast<size_t>(i);
      files_[file] = std::make_unique<RecordFile>(paths[file]);
      offsets_[file] = files_[file]->Offsets();
    });
    for (const std::vector<uint64_t>& offsets : offsets_) {
      starts_.push_back(starts_.back() + static_cast<int64_t>(offsets.size()));
    }
  }
  [[nodiscard]] int64_t size() const override { return starts_.back(); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto file = static_cast<size_t>(after - starts_.begin()) - 1;
    return {static_cast<int32_t>(file), index - starts_[file]};
  }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    const auto file = static_cast<size_t>(row.from.file);
    const uint64_t offset = offsets_[file][static_cast<size_t>(row.from.record)];
    SetText(files_[file]->ReadRecordAt(offset, row.from.record).bytes, row);
  }

 private:
  std::vector<std::unique_ptr<RecordFile>> files_;
  std::vector<std::vector<uint64_t>> offsets_;  // offsets of each file's records
  std::vector<int64_t> starts_ = {0};           // index of each file's first record, then the end
};

// Compressed files: inflated from start to end. skip and take count records over all files.
class StreamedRecords final : public StreamedSource {
 public:
  StreamedRecords(const std::vector<std::string>& paths, const RecordRange& range)
      : StreamedSource({SerializedColumn()}, paths), range_(range) {}

  void Rewind() override {
    reader_.reset();
    file_ = 0;
    taken_ = 0;
    skipped_ = false;
  }
  bool Next(std::string_view& bytes, Provenance& from) override {
    Record record;
    if (!skipped_) {
      skipped_ = true;
      for (int64_t i = 0; i < range_.skip; ++i) {
        if (!Advance(record)) break;
      }
    }
    const int64_t take = range_.take.value_or(-1);
    if (take >= 0 && taken_ >= take) return false;
    if (!Advance(record)) return false;
    ++taken_;
    bytes = record.bytes;
    from = {static_cast<int32_t>(file_), record.index};
    return true;
  }

 private:
  bool Advance(Record& record) {
    // Opens a file when the previous one ends; skips files without records.
    for (; file_ < files().size(); ++file_, reader_.reset()) {
      if (!reader_) reader_ = std::make_unique<RecordReader>(files()[file_]);
      if (reader_->Next(record)) return true;
    }
    return false;
  }

  RecordRange range_;
  std::unique_ptr<RecordReader> reader_;
  size_t file_ = 0;
  int64_t taken_ = 0;
  bool skipped_ = false;
};

// A streamed source that is read once into memory, so that records can be read in any order.
class MemoryRecords final : public IndexedSource {
 public:
  // Allocates memory in blocks of `block` bytes. Records are views into the blocks, so a block
  // never grows beyond its reserved size and no record moves.
  MemoryRecords(StreamedSource& source, size_t block)
      : IndexedSource(source.columns(), source.files()) {
    std::string_view bytes;
    Provenance from;
    source.Rewind();
    while (source.Next(bytes, from)) {
      if (blocks_.empty() || blocks_.back().size() + bytes.size() > blocks_.back().capacity()) {
        blocks_.emplace_back().reserve(std::max(block, bytes.size()));
      }
      std::string& last = blocks_.back();
      const size_t at = last.size();
      last.append(bytes);
      records_.push_back({std::string_view(last).substr(at), from});
    }
  }
  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(records_.size()); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return records_[static_cast<size_t>(index)].from;
  }
  void Read(int64_t index, Row& row) const override {
    const Kept& record = records_[static_cast<size_t>(index)];
    row.from = record.from;
    SetText(record.bytes, row);
  }

 private:
  struct Kept {
    std::string_view bytes;
    Provenance from;
  };
  std::vector<std::string> blocks_;
  std::vector<Kept> records_;
};

std::string_view NameOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "GZIP";
    case Compression::kZlib:
      return "ZLIB";
    default:
      return "";
  }
}

// True if any of the files is compressed. Throws Error kData if a file differs from the job's
// compression_type; TensorFlow would report a damaged record.
bool AnyCompressed(const std::vector<std::string>& paths, const TFRecordSource& options,
                   const std::string& key) {
  bool any = false;
  for (const std::string& path : paths) {
    const Compression found = RecordCompression(path);
    any = any || found != Compression::kNone;
    if (options.compression_type == "auto" || options.compression_type == NameOf(found)) continue;
    throw Error(
        Code::kData,
        fmt::format("{}: compression_type is \"{}\", the file's first bytes say \"{}\"", path,
                    options.compression_type, NameOf(found)),
        fmt::format("compression_type: {}",
                    found == Compression::kNone ? std::string("\"\"") : std::string(NameOf(found))))
        .Key(key + ".compression_type");
  }
  return any;
}

void CheckPositive(int64_t value, std::string_view name, const std::string& key) {
  if (value > 0) return;
  throw Error(Code::kUsage, fmt::format("{} is {}; expected 1 or more", name, value))
      .Key(fmt::format("{}.{}", key, name));
}

}  // namespace

AnySource OpenTFRecords(const TFRecordSource& options, bool cached, const std::string& key) {
  CheckPositive(options.buffer_size, "buffer_size", key);
  CheckPositive(options.num_parallel_reads, "num_parallel_reads", key);
  CheckRange(options, key);
  const std::vector<std::string> paths = FindInputs(ListOf(options.filenames), key);
  // A pipe can be read only once, and is inflated if its bytes are compressed.
  const bool is_pipe = paths.front() == "-";
  // One compressed file makes the whole source a stream, because an index must count records over
  // all files.
  if (!is_pipe && !AnyCompressed(paths, options, key)) {
    return Slice(std::make_shared<MappedRecords>(paths, options.num_parallel_reads), options, key);
  }
  auto streamed = std::make_unique<StreamedRecords>(paths, options);
  if (!cached && !is_pipe) return streamed;
  // skip and take were already applied to the streamed records.
  return Slice(std::make_shared<MemoryRecords>(*streamed, static_cast<size_t>(options.buffer_size)),
               {}, key);
}

}  // namespace tpuest::data
