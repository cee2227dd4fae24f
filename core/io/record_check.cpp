#include "core/io/record_check.h"

#include "core/base/error.h"
#include "core/io/crc32c.h"
#include "core/io/stream_window.h"
#include "core/io/tfrecord.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

constexpr uint64_t kFrame = kRecordHeaderBytes + kRecordFooterBytes;

// Two checksums to compare: that of `size` bytes, and the one stored after them.
struct Checksums {
  uint32_t crc = 0;
  uint32_t stored = 0;
  Checksums(const char* data, uint64_t size)
      : crc(Crc32c({data, size})), stored(UnmaskCrc(LoadLittle<uint32_t>(data + size))) {}
  [[nodiscard]] bool right() const { return crc == stored; }
  [[nodiscard]] std::string Text(std::string_view what) const {
    return fmt::format("{} (crc {:08x}, stored {:08x})", what, crc, stored);
  }
};

class Checker {
 public:
  explicit Checker(const std::string& path) : window_(OpenRecordStream(path)) {}

  RecordCheck Run() {
    try {
      while (Next()) {
      }
    } catch (const Error& error) {  // the rest cannot be inflated
      Damage(error.message());
    }
    return std::move(check_);
  }

 private:
  // Takes one record, or a run of bytes that are not a record; returns false at the end.
  bool Next() {
    const uint64_t found = window_.Ensure(kRecordHeaderBytes);
    if (found == 0) return false;
    if (found < kRecordHeaderBytes) return Cut(kRecordHeaderBytes, found);
    const Checksums header(window_.data(), sizeof(uint64_t));
    if (!header.right()) {
      Damage(header.Text("has a damaged length"));
      return FindNext();
    }
    const auto length = LoadLittle<uint64_t>(window_.data());
    const uint64_t framed = length > UINT64_MAX - kFrame ? UINT64_MAX : length + kFrame;
    const uint64_t available = window_.Ensure(framed);
    if (available < framed) return Cut(framed, available);
    const Checksums data(window_.data() + kRecordHeaderBytes, length);
    if (data.right()) {
      ++check_.records;
      check_.bytes += length;
    } else {
      Damage(data.Text("is damaged"));
    }
    Drop(framed);
    ++index_;
    return true;
  }

  // Moves to the next bytes that are a header with the right checksum; other bytes look like one
  // once in 2^32 positions.
  bool FindNext() {
    ++index_;
    do {
      Drop(1);
      if (window_.Ensure(kRecordHeaderBytes) < kRecordHeaderBytes) return false;
    } while (!Checksums(window_.data(), sizeof(uint64_t)).right());
    return true;
  }

  bool Cut(uint64_t expected, uint64_t found) {
    Damage(fmt::format("is cut short ({} bytes expected, {} found)", expected, found));
    return false;
  }
  void Damage(std::string why) { check_.damaged.push_back({index_, offset_, std::move(why)}); }
  void Drop(uint64_t bytes) {
    window_.Drop(bytes);
    offset_ += bytes;
  }

  StreamWindow window_;
  RecordCheck check_;
  int64_t index_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace

RecordCheck CheckRecords(const std::string& path) { return Checker(path).Run(); }

}  // namespace tpuest
