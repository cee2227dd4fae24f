#pragma once
// The files that runs read: a text that tells them apart, and whether several processes can.

#include <string>
#include <vector>

namespace tpuest {

// "2 files, 34,567 bytes, crc32c 1a2b3c4d": how many there are, all their bytes, and the checksum
// of the first 4 KiB of each of the first 100. Empty where none is a file on disk.
[[nodiscard]] std::string InputFilesText(const std::vector<std::string>& paths);

// Error kUsage for a file that is gone once it is read: it cannot be read by several processes.
void CheckEachCanRead(const std::vector<std::string>& files);

}  // namespace tpuest
