// Stores records as their columns' values, one after the other.
//
// The file:
//
//     "tpuest records 1\n"
//     uint64 fingerprint: the source's options, columns, files, and the files' sizes and times
//     to byte 64: zeros
//     the records, one after the other
//     uint64 for each record: the offset of its end, counted from byte 64
//     uint64 number of records
//     "tpuest end\n", and zeros to 16 bytes
//
// A record; each part begins at a multiple of 8 bytes:
//
//     int64 file, int64 record: its place in the source, which errors name
//     for each column: uint64 count of values; numbers: the values;
//                      strings: uint64 length of each, then their bytes, one after the other
//
// Everything is in the machine's byte order: the file belongs to one machine, and another machine
// writes its own.

#include "data/sources/kept_rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/process/files.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::data {
namespace {

constexpr size_t kHeadBytes = 64;
constexpr std::string_view kKeptMagic = "tpuest records 1\n";
constexpr std::string_view kKeptEnd = std::string_view("tpuest end\n\0\0\0\0\0", 16);
constexpr size_t kTailBytes = sizeof(uint64_t) + kKeptEnd.size();

void PutNumber(uint64_t number, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void PutNumber(uint64_t number, RowBytes& bytes) { bytes.Append(&number, sizeof number); }

void FillUp(RowBytes& bytes) {
  constexpr uint64_t kZeros = 0;
  bytes.Append(&kZeros, (8 - bytes.size() % 8) % 8);
}

uint64_t NumberAt(const char* bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

class RowsSource final : public IndexedSource {
 public:
  RowsSource(std::vector<TensorSpec> columns, std::vector<std::string> files,
             std::string_view bytes, std::vector<uint64_t> ends, std::shared_ptr<const void> keep)
      : IndexedSource(std::move(columns), std::move(files)),
        bytes_(bytes),
        ends_(std::move(ends)),
        keep_(std::move(keep)) {}
  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  [[nodiscard]] Provenance From(int64_t index) const override {
    const char* const begin = BeginOf(index);
    return {static_cast<int32_t>(NumberAt(begin)),
            static_cast<int64_t>(NumberAt(begin + sizeof(uint64_t)))};
  }
  void Read(int64_t index, Row& row) const override {
    const char* next = BeginOf(index) + 2 * sizeof(uint64_t);
    const auto take = [&] {
      const uint64_t number = NumberAt(next);
      next += sizeof number;
      return number;
    };
    row.from = From(index);
    State& state = StateOf(row);
    row.columns.resize(columns().size());
    for (size_t i = 0; i < columns().size(); ++i) {
      const auto count = static_cast<size_t>(take());
      row.columns[i].count = static_cast<int64_t>(count);
      if (columns()[i].dtype != DType::kString) {
        row.columns[i].data = next;
        next += (count * SizeOf(columns()[i].dtype) + 7) / 8 * 8;
        continue;
      }
      std::vector<std::string_view>& strings = state.strings[i];
      strings.resize(count);
      const char* text = next + count * sizeof(uint64_t);
      for (std::string_view& value : strings) {
        value = {text, static_cast<size_t>(take())};
        text += value.size();
      }
      row.columns[i].data = strings.data();
      next += (static_cast<size_t>(text - next) + 7) / 8 * 8;
    }
  }

 private:
  struct State final : Row::State {
    std::vector<std::vector<std::string_view>> strings;  // by column
  };
  [[nodiscard]] const char* BeginOf(int64_t index) const {
    return bytes_.data() + (index == 0 ? 0 : ends_[static_cast<size_t>(index) - 1]);
  }
  [[nodiscard]] State& StateOf(Row& row) const {
    auto* state = dynamic_cast<State*>(row.state.get());
    if (state == nullptr) {
      row.state = std::make_unique<State>();
      state = static_cast<State*>(row.state.get());
    }
    state->strings.resize(columns().size());
    return *state;
  }

  std::string_view bytes_;
  std::vector<uint64_t> ends_;
  std::shared_ptr<const void> keep_;
};

// Writes all options that Visit names as text; equal options give equal text.
class OptionsText {
 public:
  template <class T>
  void operator()(std::string_view name, T& value, const Field& /*field*/ = {}) {
    text_ += name;
    text_ += '=';
    Add(value);
    text_ += ';';
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void Add(const std::string& value) { text_ += fmt::format("{}:{}", value.size(), value); }
  void Add(const Raw& value) { Add(value.text); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void Add(const T& value) { text_ += fmt::format("{}", value); }
  template <class T>
  void Add(std::optional<T>& value) {
    if (value) Add(*value);
  }
  template <class T>
  void Add(std::vector<T>& values) {
    for (T& value : values) {
      Add(value);
      text_ += ',';
    }
  }
  template <class T>
  void Add(std::map<std::string, T>& values) {
    for (auto& [name, value] : values) (*this)(name, value);
  }
  template <class... T>
  void Add(std::variant<T...>& value) {
    text_ += fmt::format("{}/", value.index());
    std::visit([this](auto& held) { Add(held); }, value);
  }
  template <class T>
  requires requires(T& section, OptionsText& text) { section.Visit(text); }
  void Add(T& section) {
    text_ += '{';
    section.Visit(*this);
    text_ += '}';
  }

  std::string text_;
};

std::string HeadOf(const Source& source, uint64_t fingerprint) {
  std::string all = fmt::format("{}", fingerprint);
  for (const TensorSpec& column : source.columns()) {
    all += fmt::format("\n{} {} {}", column.name, NameOf(column.dtype), column.shape.Text());
  }
  for (const std::string& path : source.files()) {
    std::error_code unknown;
    const auto time = std::filesystem::last_write_time(path, unknown).time_since_epoch().count();
    all += fmt::format("\n{}", path);
    if (!unknown) all += fmt::format(" {} {}", FileSize(path), time);
  }
  std::string head(kKeptMagic);
  PutNumber(Fingerprint64(all), head);
  head.resize(kHeadBytes);
  return head;
}

// Calls fn(row) for each record of the source, in order.
template <class Fn>
void ForEachRow(AnySource& source, Fn fn) {
  Row row;
  if (const auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
    for (int64_t i = 0; i < (*indexed)->size(); ++i) {
      (*indexed)->Read(i, row);
      fn(row);
    }
    return;
  }
  StreamedSource& stream = *std::get<std::unique_ptr<StreamedSource>>(source);
  const std::shared_ptr<const RowDecoder> decoder = stream.decoder();
  stream.Rewind();
  std::string_view bytes;
  while (stream.Next(bytes, row.from)) {
    row.text = bytes;
    if (decoder) {
      decoder->Decode(bytes, row);
    } else {
      row.columns.assign(1, {&row.text, 1});
    }
    fn(row);
  }
}

void WriteFile(AnySource& source, const std::vector<TensorSpec>& columns, const std::string& path,
               const std::string& head) {
  constexpr size_t kChunk = size_t{1} << 20U;
  AtomicFile file(path);
  file.Append(head);
  const RowKeeper keeper(columns);
  RowBytes bytes;
  std::string ends;
  uint64_t written = 0;
  ForEachRow(source, [&](const Row& row) {
    keeper.Add(row, bytes);
    PutNumber(written + bytes.size(), ends);
    if (bytes.size() < kChunk) return;
    file.Append(bytes.view());
    written += bytes.size();
    bytes.Clear();
  });
  const uint64_t rows = ends.size() / sizeof(uint64_t);
  file.Append(bytes.view());
  PutNumber(rows, ends);
  ends.append(kKeptEnd);
  file.Append(ends);
  file.Commit();
}

// The records of a complete file with that head; nullptr for any other file.
std::shared_ptr<IndexedSource> OpenKept(const std::string& path, const std::string& head,
                                        const Source& source) {
  if (!FileExists(path)) return nullptr;
  auto file = std::make_shared<MappedFile>(path);
  const std::string_view bytes = file->bytes();
  if (bytes.size() < kHeadBytes + kTailBytes || !bytes.starts_with(head) ||
      !bytes.ends_with(kKeptEnd)) {
    return nullptr;
  }
  const uint64_t rows = NumberAt(bytes.data() + bytes.size() - kTailBytes);
  const uint64_t room = bytes.size() - kHeadBytes - kTailBytes;
  if (rows > room / sizeof(uint64_t)) return nullptr;
  const uint64_t body = room - rows * sizeof(uint64_t);
  std::vector<uint64_t> ends(static_cast<size_t>(rows));
  if (rows > 0) {
    std::memcpy(ends.data(), bytes.data() + kHeadBytes + body, ends.size() * sizeof(uint64_t));
  }
  if ((rows == 0 ? 0 : ends.back()) != body) return nullptr;
  return KeptRows(source.columns(), source.files(), bytes.substr(kHeadBytes), std::move(ends),
                  std::move(file));
}

}  // namespace

RowBytes::~RowBytes() { std::free(bytes_); }

// The kernel moves large blocks without copying, and untouched pages take no memory.
void RowBytes::Append(const void* bytes, size_t size) {
  if (size == 0) return;
  if (size > capacity_ - size_) {
    const size_t capacity = std::max(size_ + size, 2 * capacity_);
    void* const moved = std::realloc(bytes_, capacity);
    if (moved == nullptr) throw std::bad_alloc();
    bytes_ = static_cast<char*>(moved);
    capacity_ = capacity;
  }
  std::memcpy(bytes_ + size_, bytes, size);
  size_ += size;
}

void RowKeeper::Add(const Row& row, RowBytes& bytes) const {
  PutNumber(static_cast<uint64_t>(row.from.file), bytes);
  PutNumber(static_cast<uint64_t>(row.from.record), bytes);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Values& values = row.columns[i];
    const auto count = static_cast<size_t>(values.count);
    PutNumber(count, bytes);
    if (columns_[i].dtype != DType::kString) {
      if (count > 0) {
        bytes.Append(values.data, count * SizeOf(columns_[i].dtype));
      }
      FillUp(bytes);
      continue;
    }
    const auto* const strings = static_cast<const std::string_view*>(values.data);
    for (size_t at = 0; at < count; ++at) PutNumber(strings[at].size(), bytes);
    for (size_t at = 0; at < count; ++at) bytes.Append(strings[at]);
    FillUp(bytes);
  }
}

std::shared_ptr<IndexedSource> KeptRows(std::vector<TensorSpec> columns,
                                        std::vector<std::string> files, std::string_view bytes,
                                        std::vector<uint64_t> ends,
                                        std::shared_ptr<const void> keep) {
  return std::make_shared<RowsSource>(std::move(columns), std::move(files), bytes, std::move(ends),
                                      std::move(keep));
}

uint64_t FingerprintOf(const SourceOptions& options) {
  SourceOptions copy = options;  // Visit is not const
  OptionsText text;
  text("source", copy);
  return Fingerprint64(text.text());
}

std::shared_ptr<IndexedSource> KeepInFile(AnySource source, const std::string& path,
                                          uint64_t fingerprint) {
  const Source& any = std::visit([](const auto& held) -> const Source& { return *held; }, source);
  const std::string head = HeadOf(any, fingerprint);
  if (auto kept = OpenKept(path, head, any)) return kept;
  WriteFile(source, any.columns(), path, head);
  if (auto kept = OpenKept(path, head, any)) return kept;
  throw Error(Code::kResource, fmt::format("{}: the file changed while tpuest opened it", path));
}

}  // namespace tpuest::data
