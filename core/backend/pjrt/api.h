#pragma once
// Wraps a plugin's C interface: its errors become Errors, and its handles get owners. Only for the
// .cpp files of this folder.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/backend/pjrt/c_api.h"
#include "core/backend/pjrt/plugin.h"
#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace tpuest {

// A plugin's message about a failed call.
struct PjrtFailure {
  pjrt::ErrorCode code;
  std::string text;
};

// A function's offset in pjrt::Api, and its name.
struct PjrtFunction {
  size_t offset;
  std::string_view name;
};

// The functions of a loaded plugin, which is never unloaded.
class PjrtApi {
 public:
  // Loads and starts the plugin in a shared library. Throws kUsage, with the file and the versions,
  // if the file is missing or not a plugin, has another major version, lacks a function that tpuest
  // calls, or does not start.
  explicit PjrtApi(const std::string& path, PjrtLogging logging = PjrtLogging::kQuiet);
  const pjrt::Api* operator->() const { return api_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] PjrtLogging logging() const { return logging_; }
  // "version 0.81 of the PJRT interface, tpuest was built for 0.81".
  [[nodiscard]] std::string Versions() const;
  // Throws kUsage if the plugin lacks one of these functions.
  void NeedFunctions(std::span<const PjrtFunction> functions) const;

  // Reads and releases an error; nullopt for nullptr.
  [[nodiscard]] std::optional<PjrtFailure> Take(pjrt::Error* error) const;
  // Releases the plugin's error, if any, and throws it as "<path>: <what>: <its message>". The code
  // is `code`, or kResource if the device is out of memory.
  void Need(pjrt::Error* error, std::string_view what, Code code = Code::kUsage) const;
  // Throws a compiler's error about a module, like Need, at the job's line of the node that the
  // message names.
  [[noreturn]] void ThrowCompileError(const PjrtFailure& failure, std::string_view module) const;
  // Need for calls that start the plugin; the message also names the versions.
  void NeedStart(pjrt::Error* error) const;
  [[noreturn]] void ThrowStart(const PjrtFailure& failure) const;
  // Waits for an event and releases it. Throws kLost with the plugin's message.
  void Await(pjrt::Event* event, std::string_view what) const;

 private:
  std::string path_;
  PjrtLogging logging_;
  const pjrt::Api* api_ = nullptr;
};

// Converts between the dtypes of tpuest and PJRT. Throw kUsage for a type that the other side
// lacks.
[[nodiscard]] pjrt::BufferType PjrtTypeOf(DType dtype);
[[nodiscard]] DType DTypeOf(pjrt::BufferType type);

// A serialized CompileOptionsProto for `replicas` replicas on `partitions` cores each. Core p of
// replica r is the device with id devices[r * partitions + p], or with that index if `devices` is
// empty. `flag` names a boolean flag of XLA to turn on; empty: none.
[[nodiscard]] std::string PjrtCompileOptions(int replicas, int partitions,
                                             std::span<const int64_t> devices = {},
                                             std::string_view flag = {});

// Throws kUsage at num_shards if `where` has fewer than replicas * partitions `units` ("cores",
// "devices").
void CheckReplicas(int replicas, int partitions, int available, const std::string& where,
                   std::string_view units);

// The module in the interface's form; both texts outlive it.
[[nodiscard]] pjrt::Program PjrtProgramOf(std::string& module);

}  // namespace tpuest
