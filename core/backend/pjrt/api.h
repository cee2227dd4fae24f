#pragma once
// The C interface of a plugin, called safely: its errors become Errors, its handles have owners.
// For the .cpp files of this folder alone.

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

// A plugin's words about a call that failed.
struct PjrtFailure {
  pjrt::ErrorCode code;
  std::string text;
};

// A function's place in pjrt::Api, and the name by which plugins know it.
struct PjrtFunction {
  size_t offset;
  std::string_view name;
};

// The functions of a plugin that is loaded; it is never unloaded.
class PjrtApi {
 public:
  // Loads the plugin in a shared library and starts it. Error kUsage that names the file and the
  // versions: it is missing, no plugin, of another major version, so old that it lacks a function
  // that tpuest calls, or does not start.
  explicit PjrtApi(const std::string& path, PjrtLogging logging = PjrtLogging::kQuiet);
  const pjrt::Api* operator->() const { return api_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] PjrtLogging logging() const { return logging_; }
  // "version 0.81 of the PJRT interface, tpuest was built for 0.81".
  [[nodiscard]] std::string Versions() const;
  // Error kUsage unless the plugin has all of these.
  void NeedFunctions(std::span<const PjrtFunction> functions) const;

  // Releases the error, if there is one.
  [[nodiscard]] std::optional<PjrtFailure> Take(pjrt::Error* error) const;
  // Throws the plugin's error, if there is one, and releases it: "<path>: <what>: <its words>".
  // Where the device has no memory left the code is kResource, whatever `code` says.
  void Need(pjrt::Error* error, std::string_view what, Code code = Code::kUsage) const;
  // Throws what a compiler says of a module, as Need does, at the place in the job of the node that
  // it names.
  [[noreturn]] void ThrowCompileError(const PjrtFailure& failure, std::string_view module) const;
  // Need for what starts the plugin; the message names the versions, too.
  void NeedStart(pjrt::Error* error) const;
  [[noreturn]] void ThrowStart(const PjrtFailure& failure) const;
  // Waits until the event is there, and releases it. Error kLost with the plugin's words.
  void Await(pjrt::Event* event, std::string_view what) const;

 private:
  std::string path_;
  PjrtLogging logging_;
  const pjrt::Api* api_ = nullptr;
};

// Error kUsage for a type that the other side does not have.
[[nodiscard]] pjrt::BufferType PjrtTypeOf(DType dtype);
[[nodiscard]] DType DTypeOf(pjrt::BufferType type);

// A serialized CompileOptionsProto for so many replicas, each on so many cores: core p of replica r
// is the device of that id at r * partitions + p; without any, the one of that number. `flag` names
// a switch of XLA's that is turned on; empty: none.
[[nodiscard]] std::string PjrtCompileOptions(int replicas, int partitions,
                                             std::span<const int64_t> devices = {},
                                             std::string_view flag = {});

// Error kUsage at num_shards unless so many `units` ("cores", "devices") of `where` are enough for
// the replicas, which take so many each.
void CheckReplicas(int replicas, int partitions, int available, const std::string& where,
                   std::string_view units);

// The module as the interface takes it; both texts outlive it.
[[nodiscard]] pjrt::Program PjrtProgramOf(std::string& module);

}  // namespace tpuest
