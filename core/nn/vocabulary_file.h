#pragma once
// Vocabularies in text files, an entry in each line.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::nn {

// The lines that count: the first `size`, or all. Throws Error kUsage where there are fewer, or
// none.
[[nodiscard]] std::vector<std::string> VocabularyLines(const std::string& path,
                                                       const std::optional<int64_t>& size = {});

}  // namespace tpuest::nn
