#include "core/estimator/group/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/process/files.h"
#include "core/base/process/system_error.h"
#include "core/base/text.h"
#include "core/io/crc32c.h"

namespace tpuest {
namespace {

// Inputs up to this size are read completely at each start, which takes tens of milliseconds.
constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kMostFiles = 1000;
// The number of 4 KiB samples that are read of larger inputs, spread evenly over all bytes.
constexpr int64_t kSamples = 100;
constexpr int64_t kSampleBytes = 4096;

struct InputFile {
  std::string path;
  int64_t begin = 0;  // offset in the bytes of all files
  int64_t size = 0;
};

std::vector<InputFile> OnDisk(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  int64_t begin = 0;
  for (const std::string& path : paths) {
    if (!FileExists(path)) continue;
    files.push_back({path, begin, FileSize(path)});
    begin += files.back().size;
  }
  return files;
}

// Adds `size` bytes of the file to the checksum, or fewer if the file ends.
uint32_t AddBytes(const std::string& path, int64_t at, int64_t size, uint32_t sum) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.seekg(at)) ThrowErrno(path, "read");
  std::string bytes(static_cast<size_t>(std::min(size, int64_t{1} << 20)), '\0');
  while (size > 0 && file) {
    file.read(bytes.data(), std::min<std::streamsize>(size, std::ssize(bytes)));
    if (file.bad()) ThrowErrno(path, "read");
    sum = Crc32c({bytes.data(), static_cast<size_t>(file.gcount())}, sum);
    size -= file.gcount();
  }
  return sum;
}

uint32_t AddSamples(const std::vector<InputFile>& files, int64_t bytes, uint32_t sum) {
  for (int64_t i = 0; i < kSamples; ++i) {
    // The last sample ends with the last byte.
    const auto at = static_cast<int64_t>(static_cast<double>(bytes - 1) * static_cast<double>(i) /
                                         static_cast<double>(kSamples - 1));
    const auto after = std::ranges::upper_bound(files, at, {}, &InputFile::begin);
    const InputFile& file = *(after - 1);
    const int64_t begin =
        std::clamp<int64_t>(at - file.begin, 0, std::max<int64_t>(file.size - kSampleBytes, 0));
    sum = AddBytes(file.path, begin, std::min(kSampleBytes, file.size), sum);
  }
  return sum;
}

// Marks an older kind of checksum: of the first 4 KiB of each file, instead of all bytes or
// samples.
constexpr std::string_view kOlderSum = " bytes, crc32c ";

}  // namespace

std::string InputFilesText(const std::vector<std::string>& paths) {
  const std::vector<InputFile> files = OnDisk(paths);
  if (files.empty()) return "";
  const int64_t bytes = files.back().begin + files.back().size;
  const bool whole = bytes <= kMostBytes && std::ssize(files) <= kMostFiles;
  // Includes the sizes, so that inputs with other sizes have other checksums.
  uint32_t sum = 0;
  for (const InputFile& file : files) sum = Crc32c(fmt::format("{} ", file.size), sum);
  if (whole) {
    for (const InputFile& file : files) sum = AddBytes(file.path, 0, file.size, sum);
  } else {
    sum = AddSamples(files, bytes, sum);
  }
  return fmt::format("{} {}, {} bytes, {} crc32c {:08x}", files.size(),
                     files.size() == 1 ? "file" : "files", WithCommas(bytes),
                     whole ? "whole" : "sampled", sum);
}

bool IsSameInput(std::string_view before, std::string_view now) {
  const size_t older = before.find(kOlderSum);
  if (older == std::string_view::npos) return before == now;
  const std::string_view counts = before.substr(0, older);
  return now.starts_with(counts) && now.substr(counts.size()).starts_with(" bytes, ");
}

void CheckEachCanRead(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    if (std::filesystem::is_regular_file(file, ignored)) continue;
    throw Error(Code::kUsage, fmt::format("{}: only one process can read it, not several", file),
                "use a file that all processes can read");
  }
}

}  // namespace tpuest
