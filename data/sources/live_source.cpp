// Rows of the standard input as they arrive. A record is returned as soon as its last byte has
// arrived. IsThere tells whether another record is available, so a batch need not wait for slow
// rows.
//
// The bytes of a record begin with the number of its first line (8 bytes), which the decoders'
// errors name; TFRecords have no such number.

#include "data/sources/live_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "core/io/byte_stream.h"
#include "core/io/crc32c.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"
#include "data/csv/row_decoder.h"
#include "data/sources/json_rows.h"
#include "data/sources/libsvm_rows.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr size_t kLiveBytes = size_t{1} << 16;
constexpr size_t kMostLiveRecord = size_t{1} << 30;

// Bytes that have arrived and have not been read yet.
class LiveBytes {
 public:
  // Waits for more bytes or the end; returns false if neither arrives in time. -1: for ever.
  bool Wait(int wait_ms) {
    if (inflated_) {
      ReadMore();
      return true;
    }
    if (!IsReadyWithin(STDIN_FILENO, wait_ms, "stdin")) return false;
    ReadMore();
    return true;
  }
  [[nodiscard]] std::string_view ready() const { return std::string_view(bytes_).substr(at_); }
  void Drop(size_t size) { at_ += size; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // Inflates compressed rows, which the first two bytes identify.
  void Begin() {
    while (ready().size() < 2 && !has_ended_ && (ready().empty() || ready()[0] == '\x1f')) {
      (void)Wait(-1);
    }
    if (!ready().starts_with("\x1f\x8b")) return;
    inflated_ = InflateStream(Rejoin(std::exchange(bytes_, {}), OpenRawStream("-")), "-");
    at_ = 0;
  }

 private:
  void ReadMore() {
    bytes_.erase(0, at_);
    at_ = 0;
    const size_t size = bytes_.size();
    bytes_.resize(size + kLiveBytes);
    ssize_t n = 0;
    if (inflated_) {
      n = static_cast<ssize_t>(inflated_->Read(bytes_.data() + size, kLiveBytes));
    } else {
      do {
        n = ::read(STDIN_FILENO, bytes_.data() + size, kLiveBytes);
      } while (n < 0 && errno == EINTR);
    }
    bytes_.resize(size + static_cast<size_t>(n > 0 ? n : 0));
    if (n < 0) throw Error(Code::kResource, fmt::format("stdin: {}", strerror(errno)));
    has_ended_ = n == 0;
  }

  std::string bytes_;
  size_t at_ = 0;
  bool has_ended_ = false;
  std::unique_ptr<ByteStream> inflated_;
};

enum class LiveFraming { kLines, kRows, kLibsvm, kCsv, kRecords };

// Splits the incoming bytes into records.
class LiveRows {
 public:
  explicit LiveRows(LiveFraming framing, CsvDialect dialect = {})
      : framing_(framing), dialect_(dialect) {
    bytes_.Begin();
  }

  // Reads the next record, including its end, valid until the next call; returns false at the end.
  [[nodiscard]] bool Next(std::string_view& record) {
    if (!Peek(record)) return false;
    used_ = record.size();
    line_ = next_line_;
    next_line_ += std::count(record.begin(), record.end(), '\n');
    ++given_;
    return true;
  }
  // As Next, but does not consume the record.
  [[nodiscard]] bool Peek(std::string_view& record) {
    (void)IsThere(-1);
    record = bytes_.ready().substr(0, *WholeRecord());
    return !record.empty();
  }
  // Whether a record, or the end, arrives within `wait_ms` milliseconds; -1: no limit.
  [[nodiscard]] bool IsThere(int wait_ms) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(std::max(wait_ms, 0));
    bytes_.Drop(std::exchange(used_, 0));
    for (;;) {
      if (const std::optional<size_t> size = WholeRecord()) {
        if (!IsBlank(*size)) return true;
        next_line_ += 1;
        bytes_.Drop(*size);
        continue;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      const auto wait = wait_ms < 0 ? -1 : static_cast<int>(std::max<int64_t>(left.count(), 0));
      if (!bytes_.Wait(wait)) return false;
    }
  }
  [[nodiscard]] int64_t line() const { return line_; }  // line of the last returned record

 private:
  // Blank lines are not rows of JSON or libsvm, and comment lines are not rows of libsvm.
  [[nodiscard]] bool IsBlank(size_t size) const {
    const bool is_libsvm = framing_ == LiveFraming::kLibsvm;
    if ((framing_ != LiveFraming::kRows && !is_libsvm) || size == 0) return false;
    const std::string_view line = bytes_.ready().substr(0, size);
    const size_t first = line.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || (is_libsvm && line[first] == '#');
  }
  // The size of the next record, including its end; 0 after the last record, nullopt if more bytes
  // are needed.
  std::optional<size_t> WholeRecord() {
    const std::string_view ready = bytes_.ready();
    if (ready.empty() && bytes_.has_ended()) return 0;
    if (ready.size() > kMostLiveRecord)
      throw Error(Code::kData, "-: a record is longer than a gigabyte");
    if (framing_ == LiveFraming::kRecords) return WholeTFRecord(ready);
    if (framing_ == LiveFraming::kCsv) {
      return ready.empty() ? std::nullopt : CsvRecordSize(ready, bytes_.has_ended(), dialect_);
    }
    const size_t end = ready.find('\n');
    if (end != std::string_view::npos) return end + 1;
    return bytes_.has_ended() ? std::optional(ready.size()) : std::nullopt;
  }
  std::optional<size_t> WholeTFRecord(std::string_view ready) const {
    const auto fault = [&](std::string_view what) -> std::optional<size_t> {
      throw Error(Code::kData, fmt::format("-: record {} is {}", given_, what));
    };
    if (ready.size() >= kRecordHeaderBytes) {
      if (MaskCrc(Crc32c(ready.substr(0, 8))) != LoadLittle<uint32_t>(ready.data() + 8)) {
        return fault("damaged");
      }
      const auto size = LoadLittle<uint64_t>(ready.data());
      if (size > kMostLiveRecord) return fault("longer than a gigabyte");
      const size_t whole = kRecordHeaderBytes + size + kRecordFooterBytes;
      if (ready.size() >= whole) {
        const std::string_view bytes = ready.substr(kRecordHeaderBytes, size);
        const auto stored = LoadLittle<uint32_t>(bytes.data() + size);
        return MaskCrc(Crc32c(bytes)) == stored ? std::optional(whole) : fault("damaged");
      }
    }
    return bytes_.has_ended() ? fault("cut short") : std::nullopt;
  }

  LiveFraming framing_;
  CsvDialect dialect_;
  LiveBytes bytes_;
  size_t used_ = 0;  // bytes of the last returned record
  int64_t given_ = 0;
  int64_t line_ = 1;
  int64_t next_line_ = 1;
};

class LiveSource final : public StreamedSource {
 public:
  LiveSource(std::vector<TensorSpec> columns, std::unique_ptr<LiveRows> rows,
             std::shared_ptr<const RowDecoder> decoder)
      : StreamedSource(std::move(columns), {"-"}),
        rows_(std::move(rows)),
        decoder_(std::move(decoder)) {}

  void Rewind() override {}  // live input is read only once
  [[nodiscard]] bool Next(std::string_view& bytes, Provenance& from) override {
    std::string_view record;
    if (!rows_->Next(record)) return false;
    from = {0, given_++};
    if (!decoder_) {
      bytes = record.substr(kRecordHeaderBytes,
                            record.size() - kRecordHeaderBytes - kRecordFooterBytes);
      return true;
    }
    const int64_t line = rows_->line();
    numbered_.assign(reinterpret_cast<const char*>(&line), sizeof line);
    numbered_.append(record);
    bytes = numbered_;
    return true;
  }
  [[nodiscard]] bool IsThere(int wait_ms) override { return rows_->IsThere(wait_ms); }
  [[nodiscard]] std::shared_ptr<const RowDecoder> decoder() const override { return decoder_; }

 private:
  std::unique_ptr<LiveRows> rows_;
  std::shared_ptr<const RowDecoder> decoder_;
  std::string numbered_;  // the line's number followed by the record
  int64_t given_ = 0;
};

// Takes the line's number from the front of `bytes`.
int64_t TakeLine(std::string_view& bytes) {
  int64_t line = 0;
  std::memcpy(&line, bytes.data(), sizeof line);
  bytes.remove_prefix(sizeof line);
  return line;
}

// The place of byte `offset` of a record that begins at a line.
Place LivePlace(int64_t line, std::string_view record, size_t offset) {
  const std::string_view before = record.substr(0, offset);
  const size_t last = before.rfind('\n');
  const std::string_view in_line =
      last == std::string_view::npos ? before : before.substr(last + 1);
  const auto characters = std::count_if(in_line.begin(), in_line.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  });
  return {"-", static_cast<int>(line + std::count(before.begin(), before.end(), '\n')),
          static_cast<int>(characters) + 1};
}

class LiveText final : public RowDecoder {
 public:
  void Decode(std::string_view bytes, Row& row) const override {
    (void)TakeLine(bytes);
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    row.bytes.clear();
    std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(row.bytes),
                 [](char c) { return c != '\r'; });
    row.text = {reinterpret_cast<const char*>(row.bytes.data()), row.bytes.size()};
    row.columns.assign(1, {&row.text, 1});
  }
};

class LiveJson final : public RowDecoder {
 public:
  explicit LiveJson(JsonRows rows) : rows_(std::move(rows)) {}
  void Decode(std::string_view bytes, Row& row) const override {
    const int64_t line = TakeLine(bytes);
    while (bytes.ends_with('\n') || bytes.ends_with('\r')) bytes.remove_suffix(1);
    JsonScanner scanner(bytes);
    try {
      rows_.Read(scanner, bytes.size(), row);
    } catch (const Error& error) {
      throw Error(error.code(), error.message(), error.faults().front().hint)
          .At(LivePlace(line, bytes, scanner.at()));
    }
  }

 private:
  JsonRows rows_;
};

class LiveLibsvm final : public RowDecoder {
 public:
  explicit LiveLibsvm(const LibsvmRows& rows) : rows_(rows) {}
  void Decode(std::string_view bytes, Row& row) const override {
    const int64_t line = TakeLine(bytes);
    while (bytes.ends_with('\n')) bytes.remove_suffix(1);
    if (const auto fault = rows_.Read(bytes, 1, row)) {
      throw Error(Code::kData, fault->message, fault->hint)
          .At(LivePlace(line, bytes, fault->offset));
    }
  }

 private:
  LibsvmRows rows_;
};

class LiveCsv final : public RowDecoder {
 public:
  explicit LiveCsv(std::shared_ptr<const CsvRowReader> rows) : rows_(std::move(rows)) {}
  void Decode(std::string_view bytes, Row& row) const override {
    const int64_t line = TakeLine(bytes);
    if (const auto fault = rows_->Read(WithoutLineEnd(bytes), row)) {
      throw Error(Code::kData, fault->message, fault->hint)
          .At(LivePlace(line, bytes, fault->offset));
    }
  }

 private:
  std::shared_ptr<const CsvRowReader> rows_;
};

std::unique_ptr<StreamedSource> OpenLiveCsv(const CsvSource& options, const std::string& key) {
  auto rows = std::make_unique<LiveRows>(LiveFraming::kCsv, CsvDialectOf(options, key));
  std::string_view first;
  const bool is_there = options.header ? rows->Next(first) : rows->Peek(first);
  if (!is_there) {
    throw Error(Code::kData,
                options.header ? "-: the file is empty; expected a header" : "-: no records");
  }
  const auto reader = MakeCsvRowReader(options, key, WithoutLineEnd(first));
  std::vector<TensorSpec> columns = reader->columns();
  return std::make_unique<LiveSource>(std::move(columns), std::move(rows),
                                      std::make_shared<LiveCsv>(reader));
}

}  // namespace

bool IsLive(const SourceOptions& options) {
  return ReadsStandardInput(options) && !std::holds_alternative<ZipSource>(options) &&
         !std::holds_alternative<FixedLengthSource>(options);
}

std::unique_ptr<StreamedSource> OpenLive(const SourceOptions& options, const std::string& key) {
  if (const auto* const csv = std::get_if<CsvSource>(&options)) return OpenLiveCsv(*csv, key);
  if (const auto* const json = std::get_if<JsonLinesSource>(&options)) {
    JsonRows rows(StatedColumns(json->features, key + ".features"));
    std::vector<TensorSpec> columns = rows.Specs(key);
    return std::make_unique<LiveSource>(std::move(columns),
                                        std::make_unique<LiveRows>(LiveFraming::kRows),
                                        std::make_shared<LiveJson>(std::move(rows)));
  }
  if (const auto* const libsvm = std::get_if<LibsvmSource>(&options)) {
    LibsvmRows rows(*libsvm, *DTypeFromName(libsvm->label_dtype.value_or("float32")),
                    libsvm->weight_is_one);
    std::vector<TensorSpec> columns = rows.Specs(key);
    return std::make_unique<LiveSource>(std::move(columns),
                                        std::make_unique<LiveRows>(LiveFraming::kLibsvm),
                                        std::make_shared<LiveLibsvm>(rows));
  }
  if (std::holds_alternative<TextLineSource>(options)) {
    return std::make_unique<LiveSource>(std::vector{TextColumn()},
                                        std::make_unique<LiveRows>(LiveFraming::kLines),
                                        std::make_shared<LiveText>());
  }
  return std::make_unique<LiveSource>(std::vector{SerializedColumn()},
                                      std::make_unique<LiveRows>(LiveFraming::kRecords), nullptr);
}

}  // namespace tpuest::data
