#pragma once
// A window on a stream that grows as far as what is looked at needs.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/io/byte_stream.h"

namespace tpuest {

class StreamWindow {
 public:
  explicit StreamWindow(std::unique_ptr<ByteStream> stream)
      : stream_(std::move(stream)), buffer_(kBufferBytes) {}

  // Sees to it that `size` bytes, or all that are left, lie at data(); returns how many of them do.
  uint64_t Ensure(uint64_t size) {
    while (end_ - begin_ < size && !ended_) Grow(size);
    return std::min<uint64_t>(size, end_ - begin_);
  }
  [[nodiscard]] const char* data() const { return buffer_.data() + begin_; }
  // Bytes at the front that Ensure has seen to.
  void Drop(uint64_t size) { begin_ += size; }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 18;

  // The buffer at most doubles each time, so a lying length costs no more than what is there.
  void Grow(uint64_t size) {
    if (begin_ > 0) {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    if (size > buffer_.size() && end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const size_t n = stream_->Read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += n;
    ended_ = n == 0;
  }

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

}  // namespace tpuest
