#pragma once
// tf.data's shuffle(buffer_size): each draw takes a random item from a buffer and replaces it by
// the next item of the input. The items are handles (indices or slots), never records, so rerunning
// from the start of an epoch is cheap. The random numbers are Philox's, not TensorFlow's: the
// window is the same, the order is not.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"

namespace tpuest::data {

// Draw i of epoch e depends only on (key, e, i) and the handles in the buffer.
template <class Handle>
class WindowShuffle {
 public:
  WindowShuffle(int64_t size, RandomKey key) : size_(static_cast<size_t>(size)), key_(key) {}

  // Empties the buffer and starts the draws of `epoch`.
  void Begin(int64_t epoch) {
    buffer_.clear();
    draws_ = 0;
    epoch_ = static_cast<uint64_t>(epoch);
  }
  // The next handle; nullopt if buffer and input are empty. `pull` returns the input's next handle,
  // or nullopt at and after its end.
  template <class Pull>
  [[nodiscard]] std::optional<Handle> Next(Pull pull) {
    while (buffer_.size() < size_) {
      const std::optional<Handle> handle = pull();
      if (!handle) break;
      buffer_.push_back(*handle);
    }
    if (buffer_.empty()) return std::nullopt;
    const size_t at = Uniform(buffer_.size());
    const Handle drawn = buffer_[at];
    // The last handle fills the gap. The position in the buffer does not matter: all handles are
    // drawn with the same probability.
    buffer_[at] = buffer_.back();
    buffer_.pop_back();
    return drawn;
  }

 private:
  // 0..n-1, by the upper half of a 64-bit word times n (Lemire 2019 without the rejection: the bias
  // is below n / 2^64).
  size_t Uniform(size_t n) {
    const std::array<uint32_t, 4> words = Philox(key_, epoch_, draws_++);
    const uint64_t word = static_cast<uint64_t>(words[1]) << 32 | words[0];
    return static_cast<size_t>((static_cast<unsigned __int128>(word) * n) >> 64);
  }

  size_t size_;
  RandomKey key_;
  uint64_t epoch_ = 0;
  uint64_t draws_ = 0;
  std::vector<Handle> buffer_;
};

}  // namespace tpuest::data
