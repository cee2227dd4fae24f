#include "cli/shell/output_file.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/process/files.h"

namespace tpuest::cli {

void CheckNoInput(const std::string& path, const std::vector<std::string>& inputs) {
  if (inputs.empty() || !FileExists(path)) return;
  for (const std::string& input : inputs) {
    std::error_code unknown;  // a file that is not there is no other file
    if (!std::filesystem::equivalent(path, input, unknown)) continue;
    throw Error(Code::kUsage, fmt::format("{}: is read by this command", path),
                "--output FILE names another file");
  }
}

void CheckNewFile(const std::string& path, bool force) {
  if (force || !FileExists(path)) return;
  throw Error(Code::kUsage, fmt::format("{} already exists", path),
              "--force overwrites it; --output FILE writes another");
}

}  // namespace tpuest::cli
