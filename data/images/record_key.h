#pragma once
// The random numbers of one op for one record: a pure function of (the run's seed, the op's name in
// the job or its own seed, epoch, record, draw), so a record looks the same whichever thread, batch
// or attempt meets it.

#include <cstdint>

#include "data/draws.h"

namespace tpuest::data {

// Identifies a record in an epoch of a run, as a key of random numbers.
struct RecordKey {
  uint64_t seed = 0;  // the run's
  uint64_t epoch = 0;
  uint64_t file = 0;
  uint64_t record = 0;  // in the file, below 2^48
  // True for runs that began before SeedName existed: an op's own seed replaces the run's, and the
  // op's name in the job is still used.
  bool seeds_by_name = false;
};

// `name` is a fingerprint of the op's name in the job, or SeedName of its seed.
[[nodiscard]] inline Draws DrawsFor(const RecordKey& record, uint64_t name) {
  constexpr unsigned kDrawBits = 16;  // 2^18 words per record
  return {{record.seed, MixedKey({record.file, name})}, record.epoch, record.record << kDrawBits};
}

}  // namespace tpuest::data
