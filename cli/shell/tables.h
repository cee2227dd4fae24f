#pragma once
// Tables and numbers as people read them.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest::cli {

// A table whose columns are as wide as their widest cell; those marked `right` are flush right.
// Every row has as many cells as `right`. Lines end in a newline, none in blanks.
[[nodiscard]] std::string TableText(const std::vector<bool>& right,
                                    const std::vector<std::vector<std::string>>& rows);

// Three digits of a number of operations, in powers of 1000: "512", "20.1 k", "2.36 M", "1.2 G".
[[nodiscard]] std::string CountText(double count);
// Bytes in powers of 1024: "512 bytes", "25.0 MiB".
[[nodiscard]] std::string BytesText(int64_t bytes);

}  // namespace tpuest::cli
