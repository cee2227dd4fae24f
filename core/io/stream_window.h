#pragma once
// A window on a stream that grows as far as what is looked at needs.

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

  // Sees to it that `size` bytes, or all that are left, lie at data(); returns how many of them do.
  uint64_t Ensure(uint64_t size) {
    while (end_ - begin_ < size && !ended_) Grow(size);
    return std::min<uint64_t>(size, end_ - begin_);
  }
  [[nodiscard]] const char* data() const { return buffer_.get() + begin_; }
  // Bytes at the front that Ensure has seen to.
  void Drop(uint64_t size) { begin_ += size; }

 private:
  // Not filled: memory that a short stream does not reach costs nothing.
  static std::unique_ptr<char[]> NewBuffer(size_t size) {
    return std::make_unique_for_overwrite<char[]>(size);
  }

  // The buffer at most doubles each time, so a lying length costs no more than what is there.
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
  size_t size_ = size_t{1} << 18;  // of the buffer
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

}  // namespace tpuest
