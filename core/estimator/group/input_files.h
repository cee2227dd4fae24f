#pragma once
// The files that runs read: a text that identifies them, and whether several processes can read
// them.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// "2 files, 34,567 bytes, whole crc32c 1a2b3c4d": the number of files, their total size, and the
// checksum of their sizes and contents; "sampled crc32c" is the checksum of 100 pieces of 4 KiB,
// used above 64 MiB or 1,000 files. Names and times do not count, so a copy elsewhere is the same
// input. Empty if no path is a file on disk.
[[nodiscard]] std::string InputFilesText(const std::vector<std::string>& paths);

// Whether two such texts describe the same input. `before` may come from an older tpuest whose
// checksum cannot be compared: then only the counts are compared.
[[nodiscard]] bool IsSameInput(std::string_view before, std::string_view now);

// Throws Error kUsage for a file that can be read only once, because several processes must read
// it.
void CheckEachCanRead(const std::vector<std::string>& files);

}  // namespace tpuest
