#pragma once
// A window on a stream. It grows to the size that its reader asks for.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/io/byte_stream.h"

namespace tpuest {

class StreamWindow {
 public:
  explicit StreamWindow(std::unique_ptr<ByteStream> stream)
      : stream_(std::move(stream)), buffer_(NewBuffer(size_)) {}

  // Reads until data() has `size` bytes or the stream ends; returns the number of bytes at data().
  uint64_t Ensure(uint64_t size) {
    while (end_ - begin_ < size && !ended_) Grow(size);
    return std::min<uint64_t>(size, end_ - begin_);
  }
  [[nodiscard]] const char* data() const { return buffer_.get() + begin_; }
  // Drops bytes from the front, which Ensure has made available.
  void Drop(uint64_t size) { begin_ += size; }

 private:
  // Does not initialise the memory, so pages that a short stream does not reach cost nothing.
  static std::unique_ptr<char[]> NewBuffer(size_t size) {
    return std::make_unique_for_overwrite<char[]>(size);
  }

  // The buffer at most doubles each time, so a damaged length costs no more memory than the stream
  // has bytes.
  void Grow(uint64_t size) {
    if (begin_ > 0) {
      std::copy(data(), data() + (end_ - begin_), buffer_.get());
      end_ -= begin_;
      begin_ = 0;
    }
    if (size > size_ && end_ == size_) {
      std::unique_ptr<char[]> larger = NewBuffer(2 * size_);
      std::copy(buffer_.get(), buffer_.get() + end_, larger.get());
      buffer_ = std::move(larger);
      size_ *= 2;
    }
    const size_t n = stream_->Read(buffer_.get() + end_, size_ - end_);
    end_ += n;
    ended_ = n == 0;
  }

  std::unique_ptr<ByteStream> stream_;
  size_t size_ = size_t{1} << 18;  // size of the buffer
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

}  // namespace tpuest
