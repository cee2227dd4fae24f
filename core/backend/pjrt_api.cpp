#include "core/backend/pjrt_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace tpuest {
namespace {

// Of absl's and gRPC's status codes.
constexpr PJRT_Error_Code kNoMemory = PJRT_Error_Code_RESOURCE_EXHAUSTED;

struct DTypePair {
  DType dtype;
  PJRT_Buffer_Type type;
};
constexpr DTypePair kTypes[] = {
    {DType::kBool, PJRT_Buffer_Type_PRED},  {DType::kInt8, PJRT_Buffer_Type_S8},
    {DType::kInt16, PJRT_Buffer_Type_S16},  {DType::kInt32, PJRT_Buffer_Type_S32},
    {DType::kInt64, PJRT_Buffer_Type_S64},  {DType::kUint8, PJRT_Buffer_Type_U8},
    {DType::kUint16, PJRT_Buffer_Type_U16}, {DType::kUint32, PJRT_Buffer_Type_U32},
    {DType::kUint64, PJRT_Buffer_Type_U64}, {DType::kFloat, PJRT_Buffer_Type_F32},
    {DType::kDouble, PJRT_Buffer_Type_F64}, {DType::kBfloat16, PJRT_Buffer_Type_BF16},
};

void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

const PJRT_Api* LoadApi(const std::string& path) {
  // What the plugin logs is not for the terminal.
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", /*overwrite=*/0);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(Code::kUsage, fmt::format("{}: {}", path, ::dlerror()));
  }
  using GetApi = const PJRT_Api* (*)();
  const auto get = reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    throw Error(Code::kUsage, fmt::format("{}: is no PJRT plugin: it has no GetPjrtApi", path));
  }
  const PJRT_Api* const api = get();
  const auto& version = api->pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR) {
    throw Error(
        Code::kUsage,
        fmt::format("{}: has version {}.{} of the PJRT interface, tpuest was built for {}.{}", path,
                    version.major_version, version.minor_version, PJRT_API_MAJOR, PJRT_API_MINOR),
        "take a plugin of the same major version");
  }
  return api;
}

}  // namespace

PjrtApi::PjrtApi(const std::string& path) : path_(path), api_(LoadApi(path)) {
  PJRT_ARGS(initialize, PJRT_Plugin_Initialize_Args);
  Need(api_->PJRT_Plugin_Initialize(&initialize), "starting the plugin");
}

void PjrtApi::Need(PJRT_Error* error, std::string_view what, Code code) const {
  if (error == nullptr) return;
  PJRT_ARGS(message, PJRT_Error_Message_Args);
  message.error = error;
  api_->PJRT_Error_Message(&message);
  const std::string text(message.message, message.message_size);
  PJRT_ARGS(kind, PJRT_Error_GetCode_Args);
  kind.error = error;
  PJRT_Error* const second = api_->PJRT_Error_GetCode(&kind);
  const bool no_memory = second == nullptr && kind.code == kNoMemory;
  for (PJRT_Error* const each : {second, error}) {
    if (each == nullptr) continue;
    PJRT_ARGS(destroy, PJRT_Error_Destroy_Args);
    destroy.error = each;
    api_->PJRT_Error_Destroy(&destroy);
  }
  throw Error(no_memory ? Code::kResource : code, fmt::format("{}: {}: {}", path_, what, text));
}

void PjrtApi::Await(PJRT_Event* event, std::string_view what) const {
  if (event == nullptr) return;
  PJRT_ARGS(await, PJRT_Event_Await_Args);
  await.event = event;
  PJRT_Error* const error = api_->PJRT_Event_Await(&await);
  PJRT_ARGS(destroy, PJRT_Event_Destroy_Args);
  destroy.event = event;
  api_->PJRT_Event_Destroy(&destroy);
  Need(error, what, Code::kLost);
}

PJRT_Buffer_Type PjrtTypeOf(DType dtype) {
  for (const DTypePair& pair : kTypes) {
    if (pair.dtype == dtype) return pair.type;
  }
  throw Error(Code::kUsage, fmt::format("a device has no {}", NameOf(dtype)));
}

DType DTypeOf(PJRT_Buffer_Type type) {
  for (const DTypePair& pair : kTypes) {
    if (pair.type == type) return pair.dtype;
  }
  throw Error(Code::kUsage, fmt::format("a device's type {} is not known", static_cast<int>(type)));
}

// CompileOptionsProto (xla/pjrt/proto/compile_options.proto): field 3 is the build options, in it
// 4 the replicas, 5 the partitions, and device_ordinal, 1, is -1 for "as assigned".
std::string PjrtCompileOptions(int replicas) {
  std::string build;
  AppendVarint(1 << 3, build);
  AppendVarint(~uint64_t{0}, build);
  AppendVarint(4 << 3, build);
  AppendVarint(static_cast<uint64_t>(replicas), build);
  AppendVarint(5 << 3, build);
  AppendVarint(1, build);
  std::string options;
  AppendVarint(3 << 3 | 2, options);
  AppendVarint(build.size(), options);
  return options + build;
}

PJRT_Program PjrtProgramOf(std::string& module) {
  static constexpr std::string_view kFormat = "mlir";
  PJRT_ARGS(program, PJRT_Program);
  program.code = module.data();
  program.code_size = module.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  return program;
}

}  // namespace tpuest
