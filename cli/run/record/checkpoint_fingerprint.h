#pragma once
// Fingerprints tell the parameters of two checkpoints apart without reading them: they are the
// checksums of the tensors, which stand in the index.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpuest::cli {

// The fingerprint of each variable of a checkpoint, by its name; the run's own entries
// ("tpuest/...") and what an object-based checkpoint holds beside variables are left out. Two
// values that differ have the same fingerprint once in 2^32.
using Fingerprints = std::map<std::string, uint64_t>;
// Reads the index of the checkpoint at `prefix`. Error kCheckpoint where it is damaged.
[[nodiscard]] Fingerprints FingerprintsOf(const std::string& prefix);

// The names whose fingerprints differ, or that one of them lacks; sorted.
[[nodiscard]] std::vector<std::string> DifferentNames(const Fingerprints& a, const Fingerprints& b);

}  // namespace tpuest::cli
