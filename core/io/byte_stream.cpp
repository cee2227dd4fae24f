#include "core/io/byte_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/process/interrupt.h"
#include "core/base/process/system_error.h"

namespace tpuest {
namespace {

constexpr size_t kChunk = size_t{1} << 18;

class FileStream final : public ByteStream {
 public:
  explicit FileStream(const std::string& path)
      : path_(path), fd_(path == "-" ? ::dup(0) : OpenToRead(path)) {
    if (fd_ < 0) ThrowErrno(path_, "read");
  }
  ~FileStream() override { ::close(fd_); }
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  size_t Read(char* into, size_t size) override {
    size_t done = 0;
    while (done < size) {
      NeedReady(fd_, For::kReading, path_);
      const ssize_t n = ::read(fd_, into + done, size - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) ThrowErrno(path_, "read");
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

 private:
  std::string path_;
  int fd_;
};

// Returns the bytes that were read ahead, then the rest of the stream.
class RejoinedStream final : public ByteStream {
 public:
  RejoinedStream(std::string head, std::unique_ptr<ByteStream> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}
  size_t Read(char* into, size_t size) override {
    const size_t from_head = std::min(size, head_.size() - used_);
    std::memcpy(into, head_.data() + used_, from_head);
    used_ += from_head;
    return from_head + (from_head < size ? rest_->Read(into + from_head, size - from_head) : 0);
  }

 private:
  std::string head_;
  size_t used_ = 0;
  std::unique_ptr<ByteStream> rest_;
};

class Inflater final : public ByteStream {
 public:
  Inflater(std::unique_ptr<ByteStream> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), input_(new char[kChunk]) {
    // A window of 15 bits; adding 32 makes zlib detect gzip or zlib from the header.
    Check(inflateInit2(&zlib_, 15 + 32) == Z_OK);
  }
  ~Inflater() override { inflateEnd(&zlib_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  size_t Read(char* into, size_t size) override {
    size_t done = 0;
    while (done < size && !ended_) {
      const size_t room = std::min(size - done, kChunk);
      zlib_.next_out = reinterpret_cast<Bytef*>(into + done);
      zlib_.avail_out = static_cast<uInt>(room);
      Step();
      done += room - zlib_.avail_out;
    }
    return done;
  }

 private:
  // Inflates into the output until the output is full or the input is used up.
  void Step() {
    if (zlib_.avail_in == 0 && !Refill()) {
      if (!between_members_) {
        throw Error(Code::kData, fmt::format("{}: compressed data ends in the middle, at byte {}",
                                             name_, consumed_));
      }
      ended_ = true;
      return;
    }
    if (between_members_) Check(inflateReset(&zlib_) == Z_OK);
    between_members_ = false;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw Error(Code::kData, fmt::format("{}: compressed data is damaged near byte {} ({})",
                                           name_, consumed_ - zlib_.avail_in,
                                           zlib_.msg != nullptr ? zlib_.msg : "no reason given"));
    }
  }

  bool Refill() {
    const size_t n = source_->Read(input_.get(), kChunk);
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.get());
    zlib_.avail_in = static_cast<uInt>(n);
    consumed_ += n;
    return n > 0;
  }

  std::unique_ptr<ByteStream> source_;
  std::string name_;
  // Not initialised: pages that a short stream does not reach cost nothing.
  std::unique_ptr<char[]> input_;
  z_stream zlib_{};
  uint64_t consumed_ = 0;         // bytes taken from the source
  bool between_members_ = false;  // nothing is half-inflated
  bool ended_ = false;
};

}  // namespace

Compression CompressionOf(std::string_view first_bytes) {
  if (first_bytes.size() < 2) return Compression::kNone;
  const auto first = static_cast<unsigned char>(first_bytes[0]);
  const auto second = static_cast<unsigned char>(first_bytes[1]);
  if (first == 0x1F && second == 0x8B) return Compression::kGzip;
  // RFC 1950: deflate with a window of 32 KiB; the two bytes are a multiple of 31; no dictionary.
  const bool is_zlib = first == 0x78 && (first * 256 + second) % 31 == 0 && (second & 0x20) == 0;
  return is_zlib ? Compression::kZlib : Compression::kNone;
}

std::unique_ptr<ByteStream> OpenRawStream(const std::string& path) {
  return std::make_unique<FileStream>(path);
}

std::unique_ptr<ByteStream> InflateStream(std::unique_ptr<ByteStream> source, std::string name) {
  return std::make_unique<Inflater>(std::move(source), std::move(name));
}

std::unique_ptr<ByteStream> Rejoin(std::string head, std::unique_ptr<ByteStream> rest) {
  return std::make_unique<RejoinedStream>(std::move(head), std::move(rest));
}

std::unique_ptr<ByteStream> OpenStream(const std::string& path) {
  std::unique_ptr<ByteStream> raw = OpenRawStream(path);
  std::string head(2, '\0');
  head.resize(raw->Read(head.data(), head.size()));
  const bool compressed = CompressionOf(head) != Compression::kNone;
  std::unique_ptr<ByteStream> whole = Rejoin(std::move(head), std::move(raw));
  return compressed ? InflateStream(std::move(whole), path) : std::move(whole);
}

std::string ReadAll(ByteStream& stream) {
  constexpr size_t kFirst = 4096;
  std::string all;
  while (true) {
    const size_t before = all.size();
    all.resize(before + std::max(kFirst, before));
    const size_t n = stream.Read(all.data() + before, all.size() - before);
    all.resize(before + n);
    if (n == 0) return all;
  }
}

}  // namespace tpuest
