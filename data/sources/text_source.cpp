// Lines of text, and records of fixed length: TextLineDataset and FixedLengthRecordDataset.

#include <algorithm>
#include <utility>

#include "data/sources/line_files.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

void SetRecord(std::string_view text, Row& row) {
  row.text = text;
  row.columns.assign(1, {&row.text, 1});
}

// The value is a line without its end. As in TensorFlow, all carriage returns are dropped.
class TextLines final : public IndexedSource {
 public:
  explicit TextLines(LineFiles lines)
      : IndexedSource({TextColumn()}, lines.paths()), lines_(std::move(lines)) {}
  [[nodiscard]] int64_t size() const override { return lines_.size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return lines_.FromOf(index); }
  void Read(int64_t index, Row& row) const override {
    std::string_view line = lines_.Line(index);
    row.from = From(index);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\r') != std::string_view::npos) {
      row.bytes.clear();
      std::copy_if(line.begin(), line.end(), std::back_inserter(row.bytes),
                   [](char c) { return c != '\r'; });
      line = {reinterpret_cast<const char*>(row.bytes.data()), row.bytes.size()};
    }
    SetRecord(line, row);
  }

 private:
  LineFiles lines_;
};

// Records one after the other between the header and the footer of each file.
class FixedLengthRecords final : public IndexedSource {
 public:
  FixedLengthRecords(std::vector<std::unique_ptr<FileBytes>> files, std::vector<std::string> paths,
                     const FixedLengthSource& options)
      : IndexedSource({RecordColumn()}, std::move(paths)),
        files_(std::move(files)),
        record_bytes_(static_cast<uint64_t>(options.record_bytes)),
        header_bytes_(static_cast<uint64_t>(options.header_bytes)) {
    for (const auto& file : files_) {
      starts_.push_back(starts_.back() +
                        RecordsIn(*file, static_cast<uint64_t>(options.footer_bytes)));
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
    const auto record = static_cast<uint64_t>(row.from.record);
    SetRecord(files_[file]->bytes().substr(header_bytes_ + record * record_bytes_, record_bytes_),
              row);
    files_[file]->CheckWhole();
  }

 private:
  [[nodiscard]] int64_t RecordsIn(const FileBytes& file, uint64_t footer_bytes) const {
    const uint64_t size = file.bytes().size();
    if (size < header_bytes_ || size - header_bytes_ < footer_bytes) {
      throw Error(Code::kData,
                  fmt::format("{}: expected a header of {} and a footer of {} bytes, found {} "
                              "bytes in all",
                              file.path(), header_bytes_, footer_bytes, size));
    }
    const uint64_t body = size - header_bytes_ - footer_bytes;
    if (body % record_bytes_ == 0) return static_cast<int64_t>(body / record_bytes_);
    throw Error(Code::kData,
                fmt::format("{}: expected records of {} bytes; the {} bytes between a header of "
                            "{} and a footer of {} are {} and {} bytes more",
                            file.path(), record_bytes_, body, header_bytes_, footer_bytes,
                            body / record_bytes_, body % record_bytes_),
                "record_bytes, header_bytes and footer_bytes say how a file is divided");
  }

  std::vector<std::unique_ptr<FileBytes>> files_;
  uint64_t record_bytes_;
  uint64_t header_bytes_;
  std::vector<int64_t> starts_ = {0};  // index of each file's first record, then the end
};

void CheckBytes(int64_t value, int64_t least, std::string_view name, const std::string& key) {
  if (value >= least) return;
  throw Error(Code::kUsage, fmt::format("{} is {}; expected {} or more", name, value, least))
      .Key(fmt::format("{}.{}", key, name));
}

}  // namespace

TensorSpec TextColumn() { return {"text", DType::kString, Shape()}; }
TensorSpec RecordColumn() { return {"record", DType::kString, Shape()}; }

std::shared_ptr<IndexedSource> OpenTextLines(const TextLineSource& options,
                                             const std::string& key) {
  return std::make_shared<TextLines>(LineFiles(OpenFiles(options, key), /*skips_blank=*/false));
}

std::shared_ptr<IndexedSource> OpenFixedLength(const FixedLengthSource& options,
                                               const std::string& key) {
  CheckBytes(options.record_bytes, 1, "record_bytes", key);
  CheckBytes(options.header_bytes, 0, "header_bytes", key);
  CheckBytes(options.footer_bytes, 0, "footer_bytes", key);
  std::vector<std::unique_ptr<FileBytes>> files = OpenFiles(options, key);
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(file->path());
  return std::make_shared<FixedLengthRecords>(std::move(files), std::move(paths), options);
}

}  // namespace tpuest::data
