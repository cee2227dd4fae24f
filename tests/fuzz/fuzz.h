#pragma once
// What fuzz targets have in common. An input is taken, or refused with an Error; all else (another
// exception, a failed Check, a fault that a sanitizer sees, a second without an end) is a finding,
// and ends the process.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest::fuzz {

// Check fails for a refusal that says nothing, says it at a length that nobody reads, or with a
// code that is no fault of a file's, a job's or a machine's.
void CheckRefusal(const Error& error);

// False where the body refuses what it is given.
template <class Body>
bool Takes(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    CheckRefusal(error);
    return false;
  }
  return true;
}

// Takes the first byte off an input: what the target shall do with the rest. 0 for an empty input.
[[nodiscard]] inline uint8_t TakeChoice(std::string_view& input) {
  if (input.empty()) return 0;
  const auto choice = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  return choice;
}

// Takes a part off an input that holds several: all up to a line "--", or all that is left.
[[nodiscard]] inline std::string_view TakePart(std::string_view& input) {
  constexpr std::string_view kEnd = "\n--\n";
  const size_t end = input.find(kEnd);
  const std::string_view part = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + kEnd.size());
  return part;
}

// Files for readers that want a path; TMPDIR says where, best in memory.
class Files {
 public:
  [[nodiscard]] std::string Path(std::string_view name) const { return folder_.File(name); }
  // Writes a file anew, and returns its path.
  std::string Put(std::string_view name, std::string_view bytes) const;

 private:
  TemporaryFolder folder_;
};

// The process's own, for all its inputs.
[[nodiscard]] const Files& TheFiles();

}  // namespace tpuest::fuzz
