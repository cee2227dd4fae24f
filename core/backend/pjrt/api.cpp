#include "core/backend/pjrt/api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "core/backend/pjrt/compile_message.h"
#include "core/backend/pjrt/log.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

// The dtypes that tpuest and PJRT have in common.
struct DTypePair {
  DType dtype;
  pjrt::BufferType type;
};
constexpr DTypePair kTypes[] = {
    {DType::kBool, pjrt::BufferType::kPred},  {DType::kInt8, pjrt::BufferType::kS8},
    {DType::kInt16, pjrt::BufferType::kS16},  {DType::kInt32, pjrt::BufferType::kS32},
    {DType::kInt64, pjrt::BufferType::kS64},  {DType::kUint8, pjrt::BufferType::kU8},
    {DType::kUint16, pjrt::BufferType::kU16}, {DType::kUint32, pjrt::BufferType::kU32},
    {DType::kUint64, pjrt::BufferType::kU64}, {DType::kFloat, pjrt::BufferType::kF32},
    {DType::kDouble, pjrt::BufferType::kF64}, {DType::kBfloat16, pjrt::BufferType::kBf16},
};

// Functions without which neither a client can be started nor an error be read.
constexpr PjrtFunction kStartFunctions[] = {
    {offsetof(pjrt::Api, error_get_code), "PJRT_Error_GetCode"},
    {offsetof(pjrt::Api, plugin_initialize), "PJRT_Plugin_Initialize"},
    {offsetof(pjrt::Api, event_await), "PJRT_Event_Await"},
};

void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

void AppendMessage(int field, const std::string& message, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | 2, out);
  AppendVarint(message.size(), out);
  out += message;
}

// DeviceAssignmentProto (xla/xla_data.proto): 1 the replicas, 2 the computations of each, and in 3
// for each computation its replicas' devices (1).
std::string DeviceAssignment(int replicas, int partitions, std::span<const int64_t> devices) {
  std::string assignment;
  AppendVarint(1 << 3, assignment);
  AppendVarint(static_cast<uint64_t>(replicas), assignment);
  AppendVarint(2 << 3, assignment);
  AppendVarint(static_cast<uint64_t>(partitions), assignment);
  for (int partition = 0; partition < partitions; ++partition) {
    std::string ids;
    for (int replica = 0; replica < replicas; ++replica) {
      const int core = replica * partitions + partition;
      const int64_t device = devices.empty() ? core : devices[static_cast<size_t>(core)];
      AppendVarint(static_cast<uint64_t>(device), ids);
    }
    std::string computation;
    AppendMessage(1, ids, computation);
    AppendMessage(3, computation, assignment);
  }
  return assignment;
}

// The code of an Error: kResource if the device is out of memory, otherwise `code`.
Code CodeOf(const PjrtFailure& failure, Code code) {
  return failure.code == pjrt::ErrorCode::kResourceExhausted ? Code::kResource : code;
}

// dlopen's message without its leading path.
std::string LoadError(const std::string& path) {
  std::string text = ::dlerror();
  if (StartsWith(text, path + ": ")) text.erase(0, path.size() + 2);
  return text;
}

// RTLD_LOCAL keeps the plugin's symbols (its protobuf, its abseil) separate from ours.
const pjrt::Api* LoadApi(const std::string& path) {
  if (!FileExists(path)) {
    throw Error(
        Code::kUsage, fmt::format("{}: this plugin does not exist", path),
        "get a plugin with ./dev plugins cpu (or tpu), or pip install xla-cpu-pjrt (or libtpu)");
  }
  // Without a slash dlopen would search the library path.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(Code::kUsage, fmt::format("{}: not a PJRT plugin: {}", path, LoadError(file)));
  }
  using GetApi = const pjrt::Api* (*)();
  const auto get = reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    throw Error(Code::kUsage, fmt::format("{}: not a PJRT plugin: it has no GetPjrtApi", path));
  }
  const pjrt::Api* const api = get();
  if (api == nullptr) {
    throw Error(Code::kUsage,
                fmt::format("{}: not a PJRT plugin: its GetPjrtApi returns null", path));
  }
  return api;
}

}  // namespace

PjrtApi::PjrtApi(const std::string& path, PjrtLogging logging) : path_(path), logging_(logging) {
  SetPjrtLogVariables(logging);
  const PjrtSilence silence(logging);
  api_ = LoadApi(path);
  if (api_->pjrt_api_version.major_version != pjrt::kApiMajor) {
    throw Error(Code::kUsage, fmt::format("{}: has {}", path, Versions()),
                "use a plugin of the same major version");
  }
  NeedFunctions(kStartFunctions);
  pjrt::PluginInitializeArgs initialize;
  NeedStart(api_->plugin_initialize(&initialize));
}

std::string PjrtApi::Versions() const {
  const auto& version = api_->pjrt_api_version;
  return fmt::format("version {}.{} of the PJRT interface, tpuest was built for {}.{}",
                     version.major_version, version.minor_version, pjrt::kApiMajor,
                     pjrt::kApiMinor);
}

// struct_size is the size of the plugin's own table of functions, which is shorter in older
// plugins; reading past its end would call arbitrary memory.
void PjrtApi::NeedFunctions(std::span<const PjrtFunction> functions) const {
  for (const auto& [offset, name] : functions) {
    pjrt::Unused function = nullptr;
    if (offset + sizeof(function) <= api_->head.struct_size) {
      std::memcpy(&function, reinterpret_cast<const char*>(api_) + offset, sizeof(function));
    }
    if (function != nullptr) continue;
    throw Error(Code::kUsage, fmt::format("{}: has no {}: it has {}", path_, name, Versions()),
                "use a newer plugin");
  }
}

// Reading the code may itself fail; then two errors must be released.
std::optional<PjrtFailure> PjrtApi::Take(pjrt::Error* error) const {
  if (error == nullptr) return std::nullopt;
  pjrt::ErrorMessageArgs message{.error = error};
  api_->error_message(&message);
  PjrtFailure failure{pjrt::ErrorCode::kUnknown, {message.message, message.message_size}};
  pjrt::ErrorGetCodeArgs kind{.error = error};
  pjrt::Error* const second = api_->error_get_code(&kind);
  if (second == nullptr) failure.code = kind.code;
  for (pjrt::Error* const each : {second, error}) {
    if (each == nullptr) continue;
    pjrt::ErrorDestroyArgs destroy{.error = each};
    api_->error_destroy(&destroy);
  }
  return failure;
}

void PjrtApi::Need(pjrt::Error* error, std::string_view what, Code code) const {
  const std::optional<PjrtFailure> failure = Take(error);
  if (!failure) return;
  throw Error(CodeOf(*failure, code), fmt::format("{}: {}: {}", path_, what, failure->text));
}

// The Error has no place if the message names no node of the module.
void PjrtApi::ThrowCompileError(const PjrtFailure& failure, std::string_view module) const {
  const Code code = CodeOf(failure, Code::kUsage);
  const std::optional<NodePlace> node = FindNode(failure.text, module);
  if (!node) throw Error(code, fmt::format("{}: compiling: {}", path_, failure.text));
  throw Error(code, fmt::format("{}: compiling '{}': {}", path_, node->node, failure.text))
      .At(node->place);
}

void PjrtApi::NeedStart(pjrt::Error* error) const {
  if (const std::optional<PjrtFailure> failure = Take(error)) ThrowStart(*failure);
}

void PjrtApi::ThrowStart(const PjrtFailure& failure) const {
  throw Error(Code::kUsage, fmt::format("{}: the plugin does not start: {} (it has {})", path_,
                                        failure.text, Versions()));
}

// The event is released before its error is thrown.
void PjrtApi::Await(pjrt::Event* event, std::string_view what) const {
  if (event == nullptr) return;
  pjrt::EventAwaitArgs await{.event = event};
  pjrt::Error* const error = api_->event_await(&await);
  pjrt::EventDestroyArgs destroy{.event = event};
  api_->event_destroy(&destroy);
  Need(error, what, Code::kLost);
}

pjrt::BufferType PjrtTypeOf(DType dtype) {
  for (const DTypePair& pair : kTypes) {
    if (pair.dtype == dtype) return pair.type;
  }
  throw Error(Code::kUsage, fmt::format("devices do not support {}", NameOf(dtype)));
}

DType DTypeOf(pjrt::BufferType type) {
  for (const DTypePair& pair : kTypes) {
    if (pair.type == type) return pair.dtype;
  }
  throw Error(Code::kUsage, fmt::format("unknown device type {}", static_cast<int>(type)));
}

// Fields of CompileOptionsProto (xla/pjrt/proto/compile_options.proto): 3 is the build options,
// which contain 4 the replicas, 5 the partitions, 1 device_ordinal (-1: as assigned), 6 whether
// XLA's partitioner distributes the module, and 9 the assignment of devices to cores. 7 is a map
// from names of XLA's flags to OptionOverrideProtos, whose field 2 is a bool.
std::string PjrtCompileOptions(int replicas, int partitions, std::span<const int64_t> devices,
                               std::string_view flag) {
  std::string build;
  AppendVarint(1 << 3, build);
  AppendVarint(~uint64_t{0}, build);
  AppendVarint(4 << 3, build);
  AppendVarint(static_cast<uint64_t>(replicas), build);
  AppendVarint(5 << 3, build);
  AppendVarint(static_cast<uint64_t>(partitions), build);
  if (partitions > 1) {
    AppendVarint(6 << 3, build);
    AppendVarint(1, build);
  }
  if (partitions > 1 || !devices.empty()) {
    AppendMessage(9, DeviceAssignment(replicas, partitions, devices), build);
  }
  std::string options;
  AppendMessage(3, build, options);
  if (!flag.empty()) {
    std::string on;
    AppendVarint(2 << 3, on);
    AppendVarint(1, on);
    std::string entry;
    AppendMessage(1, std::string(flag), entry);
    AppendMessage(2, on, entry);
    AppendMessage(7, entry, options);
  }
  return options;
}

void CheckReplicas(int replicas, int partitions, int available, const std::string& where,
                   std::string_view units) {
  if (replicas * partitions <= available) return;
  const int fit = available / partitions;
  Error error(Code::kUsage,
              fmt::format("TPUConfig.num_shards is not set correctly. {0} has {1} {2}: "
                          "num_replicas should be at most ({3}), got ({4}){5}",
                          where, available, units, fit, replicas,
                          partitions == 1 ? ""
                                          : fmt::format(", each on num_cores_per_replica {} {}",
                                                        partitions, units)),
              fit > 0 ? fmt::format("tpu_config.num_shards={}", fit)
                      : fmt::format("tpu_config.num_cores_per_replica: at most {}", available));
  throw std::move(error).Key("run_config.tpu_config.num_shards");
}

pjrt::Program PjrtProgramOf(std::string& module) {
  static constexpr std::string_view kFormat = "mlir";
  pjrt::Program program{
      .code = module.data(),
      .code_size = module.size(),
      .format = kFormat.data(),
      .format_size = kFormat.size(),
  };
  return program;
}

}  // namespace tpuest
