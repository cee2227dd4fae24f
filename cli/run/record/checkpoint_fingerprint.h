#pragma once
// What tells the parameters of two checkpoints apart without reading them: the checksums of their
// tensors, which stand in the index.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpuest::cli {

// Of each variable by its name, in a checkpoint; the run's own entries ("tpuest/...") and what an
// object-based checkpoint holds beside variables are left out. Two values that differ have the same
// fingerprint once in 2^32.
using Fingerprints = std::map<std::string, uint64_t>;
[[nodiscard]] Fingerprints FingerprintsOf(const std::string& prefix);

// The names whose fingerprints differ, or that one of them lacks; sorted.
[[nodiscard]] std::vector<std::string> DifferentNames(const Fingerprints& a, const Fingerprints& b);

}  // namespace tpuest::cli
