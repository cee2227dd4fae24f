// Records that a program writes to its stdout. Each pass starts the program again, and it must
// write the same records. To resume, the records are read again up to the position.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/process/child_process.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "core/io/crc32c.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"
#include "data/sources/json_rows.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr size_t kPipeBytes = size_t{1} << 16;
constexpr size_t kMostRecord = size_t{1} << 30;

enum class Framing { kLines, kRecords };

// A program and its unread output.
class Program {
 public:
  Program(const std::vector<std::string>& command, int timeout_secs)
      : name_(Join(command, " ")), timeout_secs_(timeout_secs) {
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0) Throw(Code::kResource, strerror(errno));
    from_ = ends[0];
    try {
      child_.emplace(ProgramCall{.words = command, .output = ends[1], .ends_with_us = true});
    } catch (...) {
      ::close(ends[0]);
      ::close(ends[1]);
      throw;
    }
    ::close(ends[1]);
  }
  ~Program() { ::close(from_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Makes at least `size` bytes available, or all that remain; returns the number of available
  // bytes.
  size_t Fill(size_t size) {
    while (ready_.size() - at_ < size && !has_ended_) ReadMore();
    return ready_.size() - at_;
  }
  // The available bytes, valid until the next Fill.
  [[nodiscard]] std::string_view Ready() const { return std::string_view(ready_).substr(at_); }
  void Drop(size_t size) { at_ += size; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // Throws Error kData if the program exited with a code other than 0 or was ended by a signal.
  void CheckEnd(int64_t records) {
    if (!child_) return;
    const ProcessEnd end = child_->Wait();
    child_.reset();
    if (end.code == 0 && end.signal == 0) return;
    Throw(Code::kData,
          end.signal != 0 ? fmt::format("ended by signal {} after {} records", end.signal, records)
                          : fmt::format("exited with code {} after {} records", end.code, records));
  }
  [[noreturn]] void Throw(Code code, const std::string& message,
                          const std::string& hint = "") const {
    throw Error(code, fmt::format("{}: {}", name_, message), hint);
  }

 private:
  void ReadMore() {
    if (!IsReadyWithin(from_, timeout_secs_ * 1000, name_)) {
      Throw(Code::kData, fmt::format("has written nothing for {} s", timeout_secs_),
            "timeout_secs says how long a program may take for more");
    }
    // Drops the consumed bytes only here, so that views stay valid until now.
    ready_.erase(0, at_);
    at_ = 0;
    const size_t size = ready_.size();
    ready_.resize(size + kPipeBytes);
    ssize_t n = 0;
    do {
      n = ::read(from_, ready_.data() + size, kPipeBytes);
    } while (n < 0 && errno == EINTR);
    ready_.resize(size + static_cast<size_t>(n > 0 ? n : 0));
    if (n < 0) Throw(Code::kResource, strerror(errno));
    has_ended_ = n == 0;
  }

  std::string name_;
  int timeout_secs_;
  int from_ = -1;
  std::optional<ChildProcess> child_;
  std::string ready_;
  size_t at_ = 0;
  bool has_ended_ = false;
};

class Generator final : public StreamedSource {
 public:
  Generator(const GeneratorSource& options, std::vector<TensorSpec> columns, Framing framing,
            std::shared_ptr<const RowDecoder> decoder)
      : StreamedSource(std::move(columns), {Join(options.command, " ")}),
        options_(options),
        framing_(framing),
        decoder_(std::move(decoder)) {}

  void Rewind() override {
    program_.reset();
    digest_ = 0;
    used_ = 0;
    read_ = 0;
    given_ = 0;
    has_ended_ = false;
  }
  [[nodiscard]] bool Next(std::string_view& bytes, Provenance& from) override {
    for (; read_ < options_.skip; ++read_) {
      if (!Advance(bytes)) return false;
    }
    const int64_t take = options_.take.value_or(-1);
    if (take >= 0 && given_ >= take) return false;
    if (!Advance(bytes)) return false;
    from = {0, read_};
    ++read_;
    ++given_;
    return true;
  }
  [[nodiscard]] std::shared_ptr<const RowDecoder> decoder() const override { return decoder_; }

 private:
  bool Advance(std::string_view& bytes) {
    if (has_ended_) return false;
    if (!program_) program_.emplace(options_.command, static_cast<int>(options_.timeout_secs));
    program_->Drop(std::exchange(used_, 0));
    if (framing_ == Framing::kLines ? Line(bytes) : RecordOf(bytes)) {
      digest_ = Crc32c({"\n", 1}, Crc32c(bytes, digest_));
      return true;
    }
    has_ended_ = true;
    program_->CheckEnd(read_);
    CheckSame();
    return false;
  }

  // Checks that each pass wrote the same records.
  void CheckSame() {
    if (!whole_) whole_ = Whole{read_, digest_};
    if (whole_->records == read_ && whole_->digest == digest_) return;
    program_->Throw(
        Code::kData,
        fmt::format("has written other records than in the pass before: {}, and {} then", read_,
                    whole_->records),
        "a generator gives the same records each time that it is started");
  }

  bool Line(std::string_view& bytes) {
    for (size_t looked = 0;;) {
      const std::string_view ready = program_->Ready();
      const size_t end = ready.find('\n', looked);
      if (end != std::string_view::npos || (program_->has_ended() && !ready.empty())) {
        bytes = ready.substr(0, end);
        used_ = std::min(bytes.size() + 1, ready.size());
        if (bytes.ends_with('\r')) bytes.remove_suffix(1);
        return true;
      }
      if (program_->has_ended()) return false;
      looked = ready.size();
      if (looked > kMostRecord) program_->Throw(Code::kData, "a line of more than a gigabyte");
      (void)program_->Fill(looked + 1);
    }
  }

  // A TFRecord: length, checksum of the length, data, checksum of the data.
  bool RecordOf(std::string_view& bytes) {
    const size_t there = program_->Fill(kRecordHeaderBytes);
    if (there == 0) return false;
    const auto fault = [&](std::string_view what) {
      // If the program failed, its exit code says more.
      if (program_->has_ended()) program_->CheckEnd(read_);
      program_->Throw(Code::kData, fmt::format("record {} is {}", read_, what),
                      "format: tfrecord is what tf.io.TFRecordWriter writes");
    };
    if (there < kRecordHeaderBytes) fault("cut short");
    const char* const head = program_->Ready().data();
    if (MaskCrc(Crc32c({head, 8})) != LoadLittle<uint32_t>(head + 8)) fault("damaged");
    const auto size = LoadLittle<uint64_t>(head);
    if (size > kMostRecord) fault("longer than a gigabyte");
    const size_t whole = kRecordHeaderBytes + size + kRecordFooterBytes;
    if (program_->Fill(whole) < whole) fault("cut short");
    bytes = program_->Ready().substr(kRecordHeaderBytes, size);
    if (MaskCrc(Crc32c(bytes)) != LoadLittle<uint32_t>(bytes.data() + size)) fault("damaged");
    used_ = whole;
    return true;
  }

  GeneratorSource options_;
  Framing framing_;
  std::shared_ptr<const RowDecoder> decoder_;
  std::optional<Program> program_;
  size_t used_ = 0;  // bytes of the last returned record
  int64_t read_ = 0;
  int64_t given_ = 0;
  bool has_ended_ = false;
  uint32_t digest_ = 0;  // of the records of this pass
  struct Whole {
    int64_t records = 0;
    uint32_t digest = 0;
  };
  std::optional<Whole> whole_;  // of the first complete pass
};

class JsonDecoder final : public RowDecoder {
 public:
  JsonDecoder(JsonRows rows, std::string name) : rows_(std::move(rows)), name_(std::move(name)) {}
  void Decode(std::string_view bytes, Row& row) const override {
    JsonScanner scanner(bytes);
    try {
      rows_.Read(scanner, bytes.size(), row);
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{}: record {}, byte {}: {}", name_, row.from.record, scanner.at(),
                              error.message()),
                  error.faults().front().hint);
    }
  }

 private:
  JsonRows rows_;
  std::string name_;
};

void CheckGenerator(const GeneratorSource& options, const std::string& key) {
  CheckRange(options, key);
  const auto refuse = [&](const std::string& message, const char* name, const std::string& hint) {
    throw Error(Code::kUsage, message, hint).Key(fmt::format("{}.{}", key, name));
  };
  if (options.command.empty() || options.command.front().empty()) {
    refuse("command is empty; expected a program and its arguments", "command",
           "command: [python3, rows.py]");
  }
  constexpr int64_t kMostSecs = 1000000;
  if (options.timeout_secs < 1 || options.timeout_secs > kMostSecs) {
    refuse(fmt::format("timeout_secs is {}; expected 1 to {}", options.timeout_secs, kMostSecs),
           "timeout_secs", "");
  }
  if (options.format == "jsonl" && options.features.empty()) {
    refuse("rows of JSON need their features: no row is there before the program runs", "features",
           "features: {x: {type: FixedLenFeature, shape: [], dtype: float32}}");
  }
  if (options.format != "jsonl" && !options.features.empty()) {
    refuse(fmt::format("features are those of jsonl, and format is {}", options.format), "features",
           "parse_example has those of tf.Examples");
  }
}

}  // namespace

std::vector<TensorSpec> GeneratorColumns(const GeneratorSource& options, const std::string& key) {
  CheckGenerator(options, key);
  if (options.format == "text") return {TextColumn()};
  if (options.format == "tfrecord") return {SerializedColumn()};
  return JsonRows(StatedColumns(options.features, key + ".features")).Specs(key);
}

std::unique_ptr<StreamedSource> OpenGenerator(const GeneratorSource& options,
                                              const std::string& key) {
  std::vector<TensorSpec> columns = GeneratorColumns(options, key);
  std::shared_ptr<const RowDecoder> decoder;
  if (options.format == "jsonl") {
    decoder = std::make_shared<JsonDecoder>(
        JsonRows(StatedColumns(options.features, key + ".features")), Join(options.command, " "));
  }
  const Framing framing = options.format == "tfrecord" ? Framing::kRecords : Framing::kLines;
  return std::make_unique<Generator>(options, std::move(columns), framing, std::move(decoder));
}

}  // namespace tpuest::data
