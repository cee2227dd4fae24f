#pragma once
// What Keras wrote (tests/testdata/make_keras.py).

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/process/files.h"
#include "core/io/byte_stream.h"

namespace tpuest {

inline std::string KerasTestFile(const std::string& name) {
  return ReadAll(*OpenStream(std::string(TESTDATA) + "/keras/" + name + ".gz"));
}

// {"layers": [...], "datasets": {path: {"shape", "values"}}}
inline const nlohmann::json& KerasExpected(const std::string& name) {
  static const nlohmann::json kAll =
      nlohmann::json::parse(ReadFile(std::string(TESTDATA) + "/keras/expected.json"));
  return kAll.at(name);
}

}  // namespace tpuest
