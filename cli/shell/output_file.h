#pragma once
// The checks of a file that a command is told to write.

#include <string>
#include <vector>

namespace tpuest::cli {

// Error kUsage where `path` is one of the files that the command reads, by whatever name.
void CheckNoInput(const std::string& path, const std::vector<std::string>& inputs);

// Error kUsage where a file is there already and `force` is false. Devices and pipes may be there.
void CheckNewFile(const std::string& path, bool force);

}  // namespace tpuest::cli
