#pragma once
// Fingerprints tell the parameters of two checkpoints apart without reading them: they are the
// checksums of the tensors, which the index has.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpuest::cli {

// The fingerprint of each variable of a checkpoint, by its name, without the run's own entries
// ("tpuest/...") and the other entries of an object-based checkpoint. Two different values have the
// same fingerprint once in 2^32.
using Fingerprints = std::map<std::string, uint64_t>;
// Reads the index of the checkpoint at `prefix`. Error kCheckpoint if it is damaged.
[[nodiscard]] Fingerprints FingerprintsOf(const std::string& prefix);

// Returns the sorted names whose fingerprints differ, or that only one of the two has.
[[nodiscard]] std::vector<std::string> DifferentNames(const Fingerprints& a, const Fingerprints& b);

}  // namespace tpuest::cli
