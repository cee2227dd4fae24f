#include "core/base/error.h"
#include "core/base/process/mapping.h"
#include "core/io/crc32c.h"
#include "core/io/stream_window.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

// The position of a record, for errors.
struct Spot {
  const std::string& path;
  uint64_t offset;
  int64_t index;
};

[[noreturn, gnu::cold]] void RefuseCut(const Spot& at, uint64_t expected, uint64_t found) {
  throw Error(Code::kData, fmt::format("{}: record {} at byte {} is cut short ({} bytes expected, "
                                       "{} found)",
                                       at.path, at.index, at.offset, expected, found));
}

[[noreturn, gnu::cold]] void RefuseDamage(const Spot& at, std::string_view what, uint32_t crc,
                                          uint32_t stored) {
  throw Error(Code::kData,
              fmt::format("{}: record {} at byte {} {} (crc {:08x}, stored {:08x})", at.path,
                          at.index, at.offset, what, crc, stored),
              at.index == 0 && at.offset == 0 ? "is this a TFRecord file?" : "");
}

// Returns the number of data bytes of a record from the 12 bytes of its header.
uint64_t CheckedLength(const char* header, const Spot& at) {
  const uint32_t crc = Crc32c({header, 8});
  const uint32_t stored = UnmaskCrc(LoadLittle<uint32_t>(header + 8));
  if (crc != stored) [[unlikely]] {
    RefuseDamage(at, "has a damaged length", crc, stored);
  }
  return LoadLittle<uint64_t>(header);
}

// Returns all bytes of a framed record. The sum saturates, so a damaged length stays too large.
uint64_t FramedBytes(uint64_t length) {
  constexpr uint64_t kFrame = kRecordHeaderBytes + kRecordFooterBytes;
  return length > UINT64_MAX - kFrame ? UINT64_MAX : length + kFrame;
}

void CheckData(std::string_view data, const Spot& at) {
  const uint32_t crc = Crc32c(data);
  const uint32_t stored = UnmaskCrc(LoadLittle<uint32_t>(data.data() + data.size()));
  if (crc != stored) [[unlikely]] {
    RefuseDamage(at, "is damaged", crc, stored);
  }
}

// Returns the length of the record at `offset` after checking that the whole record lies in
// `bytes`.
uint64_t LengthAt(std::string_view bytes, const Spot& at) {
  const uint64_t room = at.offset > bytes.size() ? 0 : bytes.size() - at.offset;
  if (room < kRecordHeaderBytes) [[unlikely]] {
    RefuseCut(at, kRecordHeaderBytes, room);
  }
  const uint64_t length = CheckedLength(bytes.data() + at.offset, at);
  if (FramedBytes(length) > room) [[unlikely]] {
    RefuseCut(at, FramedBytes(length), room);
  }
  return length;
}

// Reports a file that changed after it was mapped, instead of reporting damage.
void RefuseChanged(std::string_view bytes, const std::string& path) {
  const int64_t now = FileExists(path) ? FileSize(path) : 0;
  const auto mapped = static_cast<int64_t>(bytes.size());
  if (now == mapped && !IsCut(bytes.data())) return;
  throw Error(Code::kData,
              fmt::format("{}: was changed while it was read: {} bytes now, {} when it was opened",
                          path, now, mapped),
              "write a new file beside it and rename that: who reads the old one keeps it");
}

Record CheckedRecordAt(std::string_view bytes, const Spot& at) {
  const uint64_t length = LengthAt(bytes, at);
  const std::string_view data(bytes.data() + at.offset + kRecordHeaderBytes, length);
  CheckData(data, at);
  return {data, at.offset, at.index};
}

Record RecordAt(std::string_view bytes, const Spot& at) {
  try {
    return CheckedRecordAt(bytes, at);
  } catch (const Error&) {
    RefuseChanged(bytes, at.path);
    throw;
  }
}

bool IsRecordHeader(std::string_view bytes) {
  return bytes.size() >= kRecordHeaderBytes &&
         Crc32c(bytes.substr(0, 8)) == UnmaskCrc(LoadLittle<uint32_t>(bytes.data() + 8));
}

Compression CompressionOfRecords(std::string_view head) {
  return IsRecordHeader(head) ? Compression::kNone : CompressionOf(head);
}

std::string ReadHead(ByteStream& stream) {
  std::string head(kRecordHeaderBytes, '\0');
  head.resize(stream.Read(head.data(), head.size()));
  return head;
}

}  // namespace

struct RecordReader::State {
  std::string path;
  uint64_t offset = 0;
  int64_t index = 0;
  std::unique_ptr<MappedFile> file;      // for an uncompressed regular file
  std::unique_ptr<StreamWindow> window;  // for all other files

  bool NextMapped(Record& record);
  bool NextStreamed(Record& record);
};

bool RecordReader::State::NextMapped(Record& record) {
  const std::string_view bytes = file->bytes();
  if (offset == bytes.size()) return false;
  record = RecordAt(bytes, {path, offset, index});
  offset += record.bytes.size() + kRecordHeaderBytes + kRecordFooterBytes;
  ++index;
  return true;
}

bool RecordReader::State::NextStreamed(Record& record) {
  const Spot at{path, offset, index};
  const uint64_t found = window->Ensure(kRecordHeaderBytes);
  if (found == 0) return false;
  if (found < kRecordHeaderBytes) RefuseCut(at, kRecordHeaderBytes, found);
  const uint64_t length = CheckedLength(window->data(), at);
  const uint64_t framed = FramedBytes(length);
  const uint64_t available = window->Ensure(framed);
  if (available < framed) RefuseCut(at, framed, available);
  record = {{window->data() + kRecordHeaderBytes, length}, offset, index};
  CheckData(record.bytes, at);
  window->Drop(framed);
  offset += framed;
  ++index;
  return true;
}

RecordReader::RecordReader(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  if (FileExists(state_->path)) {
    state_->file = std::make_unique<MappedFile>(state_->path);
    const std::string_view head = state_->file->bytes().substr(0, kRecordHeaderBytes);
    if (CompressionOfRecords(head) == Compression::kNone) return;
    state_->file.reset();
  }
  state_->window = std::make_unique<StreamWindow>(OpenRecordStream(state_->path));
}

RecordReader::~RecordReader() = default;
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;

bool RecordReader::Next(Record& record) {
  return state_->file ? state_->NextMapped(record) : state_->NextStreamed(record);
}

bool RecordReader::bytes_stay() const { return state_->file != nullptr; }
const std::string& RecordReader::path() const { return state_->path; }

std::unique_ptr<ByteStream> OpenRecordStream(const std::string& path) {
  std::unique_ptr<ByteStream> raw = OpenRawStream(path);
  std::string head = ReadHead(*raw);
  const Compression compression = CompressionOfRecords(head);
  std::unique_ptr<ByteStream> whole = Rejoin(std::move(head), std::move(raw));
  return compression == Compression::kNone ? std::move(whole)
                                           : InflateStream(std::move(whole), path);
}

RecordFile::RecordFile(std::string path) : path_(std::move(path)), file_(path_) {}

std::vector<uint64_t> RecordFile::Offsets() const {
  std::vector<uint64_t> offsets;
  uint64_t offset = 0;
  while (offset < size()) {
    const Spot at{path_, offset, static_cast<int64_t>(offsets.size())};
    offsets.push_back(offset);
    offset += FramedBytes(LengthAt(file_.bytes(), at));
  }
  return offsets;
}

Record RecordFile::ReadRecordAt(uint64_t offset, int64_t index) const {
  return RecordAt(file_.bytes(), {path_, offset, index});
}

bool BeginsAsRecords(const std::string& path) {
  const std::string head = ReadHead(*OpenRawStream(path));
  return head.empty() || IsRecordHeader(head) || CompressionOf(head) != Compression::kNone;
}

Compression RecordCompression(const std::string& path) {
  return CompressionOfRecords(ReadHead(*OpenRawStream(path)));
}

}  // namespace tpuest
