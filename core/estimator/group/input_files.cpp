#include "core/estimator/group/input_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/files.h"
#include "core/base/system_error.h"
#include "core/base/text.h"
#include "core/io/crc32c.h"

namespace tpuest {
namespace {

constexpr int64_t kMostRead = 100;
constexpr std::streamsize kBeginning = 4096;

std::string BeginningOf(const std::string& path) {
  std::string bytes(kBeginning, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) ThrowErrno(path, "read");
  file.read(bytes.data(), kBeginning);
  if (file.bad()) ThrowErrno(path, "read");
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

}  // namespace

std::string InputFilesText(const std::vector<std::string>& paths) {
  int64_t files = 0;
  int64_t bytes = 0;
  std::string beginnings;
  for (const std::string& path : paths) {
    if (!FileExists(path)) continue;
    if (files < kMostRead) beginnings += BeginningOf(path);
    bytes += FileSize(path);
    ++files;
  }
  if (files == 0) return "";
  return fmt::format("{} {}, {} bytes, crc32c {:08x}", files, files == 1 ? "file" : "files",
                     WithCommas(bytes), Crc32c(beginnings));
}

void CheckEachCanRead(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    if (std::filesystem::is_regular_file(file, ignored)) continue;
    throw Error(Code::kUsage, fmt::format("{}: is read by one process, not by several", file),
                "a file is read by all");
  }
}

}  // namespace tpuest
