#pragma once
// Functions that fuzz targets share. An input is accepted, or refused with an Error; anything else
// (another exception, a failed Check, a fault that a sanitizer reports, a second without an end) is
// a finding, and ends the process.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest::fuzz {

// Check fails for a refusal that is empty, too long to read, or has a code that is not for faults
// of a file, a job or a machine.
void CheckRefusal(const Error& error);

// Returns false if the body refuses its input.
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

// Takes the first byte of an input, which selects what the target does with the rest. 0 for an
// empty input.
[[nodiscard]] inline uint8_t TakeChoice(std::string_view& input) {
  if (input.empty()) return 0;
  const auto choice = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  return choice;
}

// Takes the next part of an input with several parts: all up to a line "--", or all that remains.
[[nodiscard]] inline std::string_view TakePart(std::string_view& input) {
  constexpr std::string_view kEnd = "\n--\n";
  const size_t end = input.find(kEnd);
  const std::string_view part = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + kEnd.size());
  return part;
}

// Files for readers that take a path; they are below TMPDIR, best in memory.
class Files {
 public:
  [[nodiscard]] std::string Path(std::string_view name) const { return folder_.File(name); }
  // Replaces a file and returns its path.
  std::string Put(std::string_view name, std::string_view bytes) const;

 private:
  TemporaryFolder folder_;
};

// One object for all inputs of the process.
[[nodiscard]] const Files& TheFiles();

}  // namespace tpuest::fuzz
