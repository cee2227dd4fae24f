#pragma once
// The C interface of a plugin, called safely: its errors become Errors, its handles have owners.
// For the .cpp files of this folder alone: it needs the interface's header (openxla/xla,
// pjrt_c_api.h).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/backend/pjrt/plugin.h"
#include "core/base/error.h"
#include "core/tensor/tensor.h"
#include "pjrt_c_api.h"

namespace tpuest {

// The arguments of a call, zeroed, with the size that the interface wants filled in.
template <class Args>
Args MakePjrtArgs(size_t struct_size) {
  Args args{};
  args.struct_size = struct_size;
  return args;
}
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a variable
#define PJRT_ARGS(name, type) auto name = ::tpuest::MakePjrtArgs<type>(type##_STRUCT_SIZE)

// A plugin's words about a call that failed.
struct PjrtFailure {
  PJRT_Error_Code code;
  std::string text;
};

// The functions of a plugin that is loaded; it is never unloaded.
class PjrtApi {
 public:
  // Loads the plugin in a shared library and starts it. Error kUsage that names the file and the
  // versions: it is missing, no plugin, of another major version, so old that it lacks a function
  // that tpuest calls, or does not start.
  explicit PjrtApi(const std::string& path, PjrtLogging logging = PjrtLogging::kQuiet);
  const PJRT_Api* operator->() const { return api_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] PjrtLogging logging() const { return logging_; }
  // "version 0.81 of the PJRT interface, tpuest was built for 0.81".
  [[nodiscard]] std::string Versions() const;
  // Error kUsage unless the plugin has the function at this offset of PJRT_Api.
  void NeedFunction(size_t offset, std::string_view name) const;

  // Releases the error, if there is one.
  [[nodiscard]] std::optional<PjrtFailure> Take(PJRT_Error* error) const;
  // Throws the plugin's error, if there is one, and releases it: "<path>: <what>: <its words>".
  // Where the device has no memory left the code is kResource, whatever `code` says.
  void Need(PJRT_Error* error, std::string_view what, Code code = Code::kUsage) const;
  // Throws what a compiler says of a module, as Need does, at the place in the job of the node that
  // it names.
  [[noreturn]] void ThrowCompileError(const PjrtFailure& failure, std::string_view module) const;
  // Need for what starts the plugin; the message names the versions, too.
  void NeedStart(PJRT_Error* error) const;
  // Waits until the event is there, and releases it. Error kLost with the plugin's words.
  void Await(PJRT_Event* event, std::string_view what) const;

 private:
  std::string path_;
  PjrtLogging logging_;
  const PJRT_Api* api_ = nullptr;
};
#define PJRT_NEED_FUNCTION(api, name) (api).NeedFunction(offsetof(PJRT_Api, name), #name)

// Error kUsage for a type that the other side does not have.
[[nodiscard]] PJRT_Buffer_Type PjrtTypeOf(DType dtype);
[[nodiscard]] DType DTypeOf(PJRT_Buffer_Type type);

// A serialized CompileOptionsProto for so many replicas of one partition.
[[nodiscard]] std::string PjrtCompileOptions(int replicas);

// Error kUsage at num_shards unless so many `units` ("cores", "devices") of `where` are enough.
void CheckReplicas(int replicas, int available, const std::string& where, std::string_view units);

// The module as the interface takes it; both texts outlive it.
[[nodiscard]] PJRT_Program PjrtProgramOf(std::string& module);

}  // namespace tpuest
