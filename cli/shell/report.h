#pragma once
// Results as JSON: the one document of --json, and its error.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace tpuest::cli {

using Json = nlohmann::ordered_json;

// A float with the fewest digits that read back as the same float; null if it is not finite.
[[nodiscard]] Json JsonNumber(float value);
// A scalar, or nested lists in the tensor's shape.
[[nodiscard]] Json JsonOf(const Tensor& tensor);

// {"schema": "tpuest.<command>/1", ...fields} and a newline on stdout.
void PrintDocument(std::string_view command, const Json& fields);
// Error kResource where what was printed cannot reach stdout (a full disk); false where its reader
// has closed the pipe, having what it wanted.
bool FlushStdout();
// Prints and flushes, likewise.
[[nodiscard]] bool WriteStdout(std::string_view text);
// {"error": {"code", "message", "file", "line", "column", "hint"}} of the first fault; all of them
// under "faults" if there are more.
void PrintError(Code code, const std::vector<Fault>& faults);

}  // namespace tpuest::cli
