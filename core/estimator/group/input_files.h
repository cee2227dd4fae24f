#pragma once
// The files that runs read: a text that tells them apart, and whether several processes can.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest {

// "2 files, 34,567 bytes, whole crc32c 1a2b3c4d": how many there are, all their bytes, and the
// checksum of their sizes and contents; "sampled crc32c" where it is, past 64 MiB or 1,000 files,
// of 100 pieces of 4 KiB. Says nothing of names and times, so that a copy elsewhere is the same
// input. Empty where none is a file on disk.
[[nodiscard]] std::string InputFilesText(const std::vector<std::string>& paths);

// Whether two such texts speak of the same input. `before` may be of an older tpuest, whose
// checksum cannot be compared: then only the counts are.
[[nodiscard]] bool IsSameInput(std::string_view before, std::string_view now);

// Error kUsage for a file that is gone once it is read: it cannot be read by several processes.
void CheckEachCanRead(const std::vector<std::string>& files);

}  // namespace tpuest
