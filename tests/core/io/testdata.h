#pragma once
// The files that TensorFlow wrote (tests/testdata) and what it says is in them.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "core/base/files.h"

namespace tpuest {

inline std::string TestData(const std::string& name) { return JoinPath(TESTDATA, name); }

inline const nlohmann::json& Expected(const std::string& part) {
  static const nlohmann::json all = nlohmann::json::parse(ReadFile(TestData("expected.json")));
  return all.at(part);
}

inline std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// A folder of its own that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tpuest_io_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return JoinPath(path_, name);
  }

 private:
  std::string path_;
};

// A new file: truncating or renaming over one makes some file systems wait for the disk.
inline void Put(const std::string& path, std::string_view bytes) {
  RemoveFile(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The Error that fn throws, its message and code.
struct Thrown {
  std::string message;
  Code code = Code::kInternal;
};

template <class Fn>
Thrown ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return {error.message(), error.code()};
  }
  return {"nothing was thrown", Code::kInternal};
}

}  // namespace tpuest
