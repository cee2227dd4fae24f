#pragma once
// Gives a test a temporary folder of its own.

#include <string>
#include <string_view>

#include "core/base/process/files.h"

namespace tpuest {

// The folder goes away, with all that is in it, when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(MakeTemporaryFolder("tpuest_test")) {}
  ~TemporaryFolder() { RemoveTree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string File(std::string_view name) const { return JoinPath(path_, name); }

 private:
  std::string path_;
};

}  // namespace tpuest
