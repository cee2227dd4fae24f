#pragma once
// Results as JSON: --json prints one document, of a result or of an error.

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
// The faults as lines of a log in JSON, a document each; `time` as it stands there.
[[nodiscard]] std::string ErrorLines(Code code, const std::vector<Fault>& faults,
                                     const std::string& time);

// Prints {"schema": "tpuest.<command>/1", ...fields} and a newline on stdout. Error kResource as
// FlushStdout.
void PrintDocument(std::string_view command, const Json& fields);
// Error kResource if the output cannot be written (a full disk). Returns false if the reader has
// closed the pipe.
bool FlushStdout();
// Prints on stdout and flushes; the result and the error are those of FlushStdout.
[[nodiscard]] bool WriteStdout(std::string_view text);
// Prints {"error": {"code", "message", "file", "line", "column", "key", "hint"}} of the first fault
// on stdout, "code" being the exit code and absent fields left out; "faults" has all faults if
// there are several. `faults` must not be empty. Throws nothing.
void PrintError(Code code, const std::vector<Fault>& faults);

}  // namespace tpuest::cli
