// A PJRT plugin that computes nothing, built with one fault at a time. Its messages consist of the
// words that the tests look for.

#include <array>
#include <string>
#include <string_view>

#include "core/backend/pjrt/c_api.h"

struct tpuest::pjrt::Error {
  pjrt::ErrorCode code;
  std::string text;
};

namespace {

namespace pjrt = tpuest::pjrt;

#ifdef FAKE_FAIL_INITIALIZE
constexpr bool kInitializes = false;
#else
constexpr bool kInitializes = true;
#endif
#ifdef FAKE_FAIL_CREATE
constexpr bool kCreates = false;
#else
constexpr bool kCreates = true;
#endif
#ifdef FAKE_FAIL_EXECUTE
constexpr bool kExecutes = false;
#else
constexpr bool kExecutes = true;
#endif

#ifdef FAKE_NO_TOPOLOGIES
constexpr bool kHasTopologies = false;
#else
constexpr bool kHasTopologies = true;
#endif

// One address per kind of handle, without an object.
std::array<char, 8> handles;
template <class T>
T* Handle(size_t kind) {
  return reinterpret_cast<T*>(&handles[kind]);
}
pjrt::Device* devices[] = {Handle<pjrt::Device>(0), Handle<pjrt::Device>(0)};
pjrt::DeviceDescription* descriptions[] = {Handle<pjrt::DeviceDescription>(1),
                                           Handle<pjrt::DeviceDescription>(1)};

pjrt::Error* Fails(pjrt::ErrorCode code, std::string text) {
  return new pjrt::Error{code, std::move(text)};
}
template <class Args>
pjrt::Error* Nothing(Args* /*args*/) {
  return nullptr;
}

void ErrorDestroy(pjrt::ErrorDestroyArgs* args) { delete args->error; }
void ErrorMessage(pjrt::ErrorMessageArgs* args) {
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}
pjrt::Error* ErrorGetCode(pjrt::ErrorGetCodeArgs* args) {
  args->code = args->error->code;
  return nullptr;
}
pjrt::Error* Initialize(pjrt::PluginInitializeArgs* /*args*/) {
  return kInitializes ? nullptr : Fails(pjrt::ErrorCode::kInternal, "no driver");
}
pjrt::Error* Create(pjrt::ClientCreateArgs* args) {
  args->client = Handle<pjrt::Client>(2);
  return kCreates ? nullptr : Fails(pjrt::ErrorCode::kUnavailable, "no device is free");
}
pjrt::Error* Devices(pjrt::ClientAddressableDevicesArgs* args) {
  args->addressable_devices = devices;
  args->num_addressable_devices = std::size(devices);
  return nullptr;
}
// Refuses a program according to its text.
pjrt::Error* Refuse(const pjrt::Program* program) {
  const std::string_view code(program->code, program->code_size);
  if (code.find("too_large") != std::string_view::npos) {
    return Fails(pjrt::ErrorCode::kResourceExhausted,
                 "Ran out of memory on HBM, the total memory required for HLO temporaries (20.00G) "
                 "exceeds available HBM (15.50G).");
  }
  if (code.find("unknown_op") != std::string_view::npos) {
    return Fails(pjrt::ErrorCode::kUnimplemented, "no such op\n  job.yaml:12:5 [conv/Conv2D]");
  }
  return nullptr;
}
pjrt::Error* ClientCompile(pjrt::ClientCompileArgs* args) {
  args->executable = Handle<pjrt::LoadedExecutable>(3);
  return Refuse(args->program);
}
pjrt::Error* GetExecutable(pjrt::LoadedExecutableGetExecutableArgs* args) {
  args->executable = Handle<pjrt::Executable>(4);
  return nullptr;
}
pjrt::Error* Execute(pjrt::LoadedExecutableExecuteArgs* args) {
  if (!kExecutes) return Fails(pjrt::ErrorCode::kUnavailable, "the device went away");
  for (size_t i = 0; i < args->num_devices; ++i) {
    args->device_complete_events[i] = Handle<pjrt::Event>(5);
  }
  return nullptr;
}
pjrt::Error* Await(pjrt::EventAwaitArgs* /*args*/) {
  return Fails(pjrt::ErrorCode::kAborted, "the device stopped");
}
pjrt::Error* CreateTopology(pjrt::TopologyDescriptionCreateArgs* args) {
  const std::string_view name(args->topology_name, args->topology_name_size);
  if (name == "v9:2x2") return Fails(pjrt::ErrorCode::kInvalidArgument, "no v9");
  args->topology = Handle<pjrt::TopologyDescription>(6);
  return nullptr;
}
pjrt::Error* Describe(pjrt::TopologyDescriptionGetDeviceDescriptionsArgs* args) {
  args->descriptions = descriptions;
  args->num_descriptions = std::size(descriptions);
  return nullptr;
}
pjrt::Error* Kind(pjrt::DeviceDescriptionKindArgs* args) {
  args->device_kind = "TPU v5 lite";
  args->device_kind_size = 11;
  return nullptr;
}
pjrt::Error* PlatformName(pjrt::TopologyDescriptionPlatformNameArgs* args) {
  args->platform_name = "tpu";
  args->platform_name_size = 3;
  return nullptr;
}
pjrt::Error* Attributes(pjrt::TopologyDescriptionAttributesArgs* args) {
  static pjrt::NamedValue limit{};
  limit.name = "device_memory_bytes_limit";
  limit.name_size = 25;
  limit.type = pjrt::NamedValueType::kInt64;
  limit.int64_value = 1000;
  args->attributes = &limit;
  args->num_attributes = 1;
  return nullptr;
}
pjrt::Error* Compile(pjrt::CompileArgs* args) {
  args->executable = Handle<pjrt::Executable>(7);
  return Refuse(args->program);
}
pjrt::Error* MemoryStats(pjrt::ExecutableGetCompiledMemoryStatsArgs* args) {
  args->generated_code_size_in_bytes = 1;
  args->argument_size_in_bytes = 2;
  args->output_size_in_bytes = 3;
  args->alias_size_in_bytes = 4;
  args->temp_size_in_bytes = 5;
  args->peak_memory_in_bytes = 6;
  return nullptr;
}
pjrt::Error* CostAnalysis(pjrt::ExecutableGetCostAnalysisArgs* args) {
  static pjrt::NamedValue flops{};
  flops.name = "flops";
  flops.name_size = 5;
  flops.type = pjrt::NamedValueType::kFloat;
  flops.float_value = 7;
  args->properties = &flops;
  args->num_properties = 1;
  return nullptr;
}

pjrt::Api MakeApi() {
  pjrt::Api api{};
#ifdef FAKE_OTHER_MAJOR
  api.pjrt_api_version.major_version = pjrt::kApiMajor + 3;
  api.pjrt_api_version.minor_version = 4;
#endif
#ifdef FAKE_OLD
  api.pjrt_api_version.minor_version = 5;
  api.head.struct_size = offsetof(pjrt::Api, loaded_executable_execute);
#endif
  api.error_destroy = ErrorDestroy;
  api.error_message = ErrorMessage;
  api.error_get_code = ErrorGetCode;
  api.plugin_initialize = Initialize;
  api.event_destroy = Nothing;
  api.event_await = Await;
  api.client_create = Create;
  api.client_destroy = Nothing;
  api.client_platform_name = Nothing;
  api.client_addressable_devices = Devices;
  api.client_compile = ClientCompile;
  api.client_buffer_from_host_buffer = Nothing;
  api.executable_destroy = Nothing;
  api.executable_num_outputs = Nothing;
  api.loaded_executable_get_executable = GetExecutable;
  api.loaded_executable_destroy = Nothing;
  api.loaded_executable_execute = Execute;
  api.buffer_destroy = Nothing;
  api.buffer_element_type = Nothing;
  api.buffer_dimensions = Nothing;
  api.buffer_to_host_buffer = Nothing;
  api.topology_description_create = kHasTopologies ? CreateTopology : nullptr;
  api.topology_description_destroy = Nothing;
  api.topology_description_platform_name = PlatformName;
  api.topology_description_platform_version = Nothing;
  api.topology_description_get_device_descriptions = Describe;
  api.topology_description_attributes = Attributes;
  api.device_description_kind = Kind;
  api.compile = Compile;
  api.executable_get_cost_analysis = CostAnalysis;
  api.executable_get_compiled_memory_stats = MemoryStats;
  return api;
}

}  // namespace

#ifdef FAKE_NO_GET_API
#define GetPjrtApi GetAnotherApi
#endif
extern "C" const tpuest::pjrt::Api* GetPjrtApi() {
  static const tpuest::pjrt::Api api = MakeApi();
  return &api;
}
