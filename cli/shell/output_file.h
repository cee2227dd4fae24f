#pragma once
// Checks the output file of a command.

#include <string>
#include <vector>

namespace tpuest::cli {

// Throws Error kUsage if `path` is one of the files that the command reads, under any name.
void CheckNoInput(const std::string& path, const std::vector<std::string>& inputs);

// Throws Error kUsage if the file exists and `force` is false. Devices and pipes may exist.
void CheckNewFile(const std::string& path, bool force);

}  // namespace tpuest::cli
