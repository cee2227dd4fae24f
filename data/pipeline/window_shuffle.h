#pragma once
// tf.data's shuffle(buffer_size): a buffer of so many items, of which each draw takes one at random
// and puts the next of the input in its place. The items are handles (indices or slots), never the
// records themselves, so it is cheap to run again from the start of an epoch. The numbers are ours
// (Philox), not TensorFlow's: same window, another order.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.h"

namespace tpuest::data {

// Draw i of epoch e is a function of (key, e, i) and the handles in the buffer alone.
template <class Handle>
class WindowShuffle {
 public:
  WindowShuffle(int64_t size, RandomKey key) : size_(static_cast<size_t>(size)), key_(key) {}

  // Forgets everything; draws are a function of `epoch` from now on.
  void Begin(int64_t epoch) {
    buffer_.clear();
    draws_ = 0;
    epoch_ = static_cast<uint64_t>(epoch);
  }
  // The next handle, or nullopt when buffer and input are empty. `pull` gives the input's next one,
  // or nullopt at its end, also if it is asked again.
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
    // The last one fills the hole. The place of a handle in the buffer does not matter: each is
    // drawn with the same chance.
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
