#pragma once
// The random numbers of one op for one record: a pure function of (seed, the op's name in the job,
// epoch, record, draw), so a record looks the same whichever thread, batch or attempt meets it.

#include <array>
#include <cstdint>

#include "core/base/random.h"

namespace tpuest {

// A record in an epoch of a run, as random numbers name it.
struct RecordKey {
  uint64_t seed = 0;  // the run's
  uint64_t epoch = 0;
  uint64_t file = 0;
  uint64_t record = 0;  // in the file, below 2^48
};

class Draws {
 public:
  // `name` is a fingerprint of whose numbers these are.
  Draws(const RecordKey& record, uint64_t name)
      : key_{record.seed, MixedKey({record.file, name})},
        epoch_(record.epoch),
        next_(record.record << kDrawBits) {}

  uint32_t Word() {
    if (lane_ == words_.size()) {
      words_ = Philox(key_, epoch_, next_++);
      lane_ = 0;
    }
    return words_[lane_++];
  }
  // Uniform in [0, 1).
  float Uniform() { return UniformFloat(Word()); }
  // Uniform in [low, high).
  float Between(float low, float high) { return low + (high - low) * Uniform(); }
  // One of 0..count-1, each as likely to within count / 2^32.
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(uint64_t{Word()} * static_cast<uint64_t>(count) >> 32U);
  }

 private:
  static constexpr unsigned kDrawBits = 16;  // 2^18 words a record
  RandomKey key_;
  uint64_t epoch_;
  uint64_t next_;
  std::array<uint32_t, 4> words_{};
  size_t lane_ = 4;
};

}  // namespace tpuest
