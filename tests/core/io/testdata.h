#pragma once
// Finds the files that TensorFlow wrote (tests/testdata), and their expected contents.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

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

// Writes a new file, because truncating or renaming over an existing one makes some file systems
// wait for the disk.
inline void Put(const std::string& path, std::string_view bytes) {
  RemoveFile(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The message and code of the Error that fn throws.
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
