// A PJRT plugin that computes nothing, to be built with one fault at a time. What it says is made
// up of the words that the tests look for.

#include <array>
#include <string>
#include <string_view>

#include "pjrt_c_api.h"

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string text;
};

namespace {

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

// An address for each kind of handle; nothing is behind it.
std::array<char, 8> handles;
template <class T>
T* Handle(size_t kind) {
  return reinterpret_cast<T*>(&handles[kind]);
}
PJRT_Device* devices[] = {Handle<PJRT_Device>(0), Handle<PJRT_Device>(0)};
PJRT_DeviceDescription* descriptions[] = {Handle<PJRT_DeviceDescription>(1),
                                          Handle<PJRT_DeviceDescription>(1)};

PJRT_Error* Fails(PJRT_Error_Code code, std::string text) {
  return new PJRT_Error{code, std::move(text)};
}
template <class Args>
PJRT_Error* Nothing(Args* /*args*/) {
  return nullptr;
}

void ErrorDestroy(PJRT_Error_Destroy_Args* args) { delete args->error; }
void ErrorMessage(PJRT_Error_Message_Args* args) {
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}
PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args) {
  args->code = args->error->code;
  return nullptr;
}
PJRT_Error* Initialize(PJRT_Plugin_Initialize_Args* /*args*/) {
  return kInitializes ? nullptr : Fails(PJRT_Error_Code_INTERNAL, "no driver");
}
PJRT_Error* Create(PJRT_Client_Create_Args* args) {
  args->client = Handle<PJRT_Client>(2);
  return kCreates ? nullptr : Fails(PJRT_Error_Code_UNAVAILABLE, "no device is free");
}
PJRT_Error* Devices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = devices;
  args->num_addressable_devices = std::size(devices);
  return nullptr;
}
// A program is refused by what its text holds.
PJRT_Error* Refuse(const PJRT_Program* program) {
  const std::string_view code(program->code, program->code_size);
  if (code.find("too_large") != std::string_view::npos) {
    return Fails(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                 "Ran out of memory on HBM, the total memory required for HLO temporaries (20.00G) "
                 "exceeds available HBM (15.50G).");
  }
  if (code.find("unknown_op") != std::string_view::npos) {
    return Fails(PJRT_Error_Code_UNIMPLEMENTED, "no such op\n  job.yaml:12:5 [conv/Conv2D]");
  }
  return nullptr;
}
PJRT_Error* ClientCompile(PJRT_Client_Compile_Args* args) {
  args->executable = Handle<PJRT_LoadedExecutable>(3);
  return Refuse(args->program);
}
PJRT_Error* GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = Handle<PJRT_Executable>(4);
  return nullptr;
}
PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  if (!kExecutes) return Fails(PJRT_Error_Code_UNAVAILABLE, "the device went away");
  for (size_t i = 0; i < args->num_devices; ++i) {
    args->device_complete_events[i] = Handle<PJRT_Event>(5);
  }
  return nullptr;
}
PJRT_Error* Await(PJRT_Event_Await_Args* /*args*/) {
  return Fails(PJRT_Error_Code_ABORTED, "the device stopped");
}
PJRT_Error* CreateTopology(PJRT_TopologyDescription_Create_Args* args) {
  const std::string_view name(args->topology_name, args->topology_name_size);
  if (name == "v9:2x2") return Fails(PJRT_Error_Code_INVALID_ARGUMENT, "no v9");
  args->topology = Handle<PJRT_TopologyDescription>(6);
  return nullptr;
}
PJRT_Error* Describe(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  args->descriptions = descriptions;
  args->num_descriptions = std::size(descriptions);
  return nullptr;
}
PJRT_Error* Kind(PJRT_DeviceDescription_Kind_Args* args) {
  args->device_kind = "TPU v5 lite";
  args->device_kind_size = 11;
  return nullptr;
}
PJRT_Error* PlatformName(PJRT_TopologyDescription_PlatformName_Args* args) {
  args->platform_name = "tpu";
  args->platform_name_size = 3;
  return nullptr;
}
PJRT_Error* Attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  static PJRT_NamedValue limit{};
  limit.name = "device_memory_bytes_limit";
  limit.name_size = 25;
  limit.type = PJRT_NamedValue_kInt64;
  limit.int64_value = 1000;
  args->attributes = &limit;
  args->num_attributes = 1;
  return nullptr;
}
PJRT_Error* Compile(PJRT_Compile_Args* args) {
  args->executable = Handle<PJRT_Executable>(7);
  return Refuse(args->program);
}
PJRT_Error* MemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  args->generated_code_size_in_bytes = 1;
  args->argument_size_in_bytes = 2;
  args->output_size_in_bytes = 3;
  args->alias_size_in_bytes = 4;
  args->temp_size_in_bytes = 5;
  args->peak_memory_in_bytes = 6;
  return nullptr;
}
PJRT_Error* CostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  static PJRT_NamedValue flops{};
  flops.name = "flops";
  flops.name_size = 5;
  flops.type = PJRT_NamedValue_kFloat;
  flops.float_value = 7;
  args->properties = &flops;
  args->num_properties = 1;
  return nullptr;
}

PJRT_Api MakeApi() {
  PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#ifdef FAKE_OTHER_MAJOR
  api.pjrt_api_version.major_version = PJRT_API_MAJOR + 3;
  api.pjrt_api_version.minor_version = 4;
#endif
#ifdef FAKE_OLD
  api.pjrt_api_version.minor_version = 5;
  api.struct_size = offsetof(PJRT_Api, PJRT_LoadedExecutable_Execute);
#endif
  api.PJRT_Error_Destroy = ErrorDestroy;
  api.PJRT_Error_Message = ErrorMessage;
  api.PJRT_Error_GetCode = ErrorGetCode;
  api.PJRT_Plugin_Initialize = Initialize;
  api.PJRT_Event_Destroy = Nothing;
  api.PJRT_Event_Await = Await;
  api.PJRT_Client_Create = Create;
  api.PJRT_Client_Destroy = Nothing;
  api.PJRT_Client_PlatformName = Nothing;
  api.PJRT_Client_AddressableDevices = Devices;
  api.PJRT_Client_Compile = ClientCompile;
  api.PJRT_Client_BufferFromHostBuffer = Nothing;
  api.PJRT_Executable_Destroy = Nothing;
  api.PJRT_Executable_NumOutputs = Nothing;
  api.PJRT_LoadedExecutable_GetExecutable = GetExecutable;
  api.PJRT_LoadedExecutable_Destroy = Nothing;
  api.PJRT_LoadedExecutable_Execute = Execute;
  api.PJRT_Buffer_Destroy = Nothing;
  api.PJRT_Buffer_ElementType = Nothing;
  api.PJRT_Buffer_Dimensions = Nothing;
  api.PJRT_Buffer_ToHostBuffer = Nothing;
  api.PJRT_TopologyDescription_Create = kHasTopologies ? CreateTopology : nullptr;
  api.PJRT_TopologyDescription_Destroy = Nothing;
  api.PJRT_TopologyDescription_PlatformName = PlatformName;
  api.PJRT_TopologyDescription_PlatformVersion = Nothing;
  api.PJRT_TopologyDescription_GetDeviceDescriptions = Describe;
  api.PJRT_TopologyDescription_Attributes = Attributes;
  api.PJRT_DeviceDescription_Kind = Kind;
  api.PJRT_Compile = Compile;
  api.PJRT_Executable_GetCostAnalysis = CostAnalysis;
  api.PJRT_Executable_GetCompiledMemoryStats = MemoryStats;
  return api;
}

}  // namespace

#ifdef FAKE_NO_GET_API
#define GetPjrtApi GetAnotherApi
#endif
extern "C" const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = MakeApi();
  return &api;
}
