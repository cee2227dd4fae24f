#pragma once
// Vocabularies in text files, one entry per line.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::nn {

// Returns the first `size` lines, or all. Throws Error kUsage if there are fewer, or none.
[[nodiscard]] std::vector<std::string> VocabularyLines(const std::string& path,
                                                       const std::optional<int64_t>& size = {});

}  // namespace tpuest::nn
