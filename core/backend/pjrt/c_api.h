#pragma once
// The C interface that PJRT plugins have (openxla/xla, xla/pjrt/c/pjrt_c_api.h), as far as tpuest
// calls it: the layout of version 0.81. Fields have the interface's names, types those of this
// project: PJRT_Client_Create_Args is ClientCreateArgs, PJRT_Buffer_Type_F32 BufferType::kF32.
// pjrt_layout_test compares all of it with the header that comes with a plugin. Only for the .cpp
// files of this folder; api.h wraps it safely.

#include <cstddef>
#include <cstdint>

namespace tpuest::pjrt {

// Versions with the same major number have the same layout, except that newer ones append fields.
inline constexpr int kApiMajor = 0;
inline constexpr int kApiMinor = 81;

// The value of struct_size: the bytes up to the end of a struct's last field, without padding. A
// struct with padding states its own.
template <class Struct>
inline constexpr size_t kStructSize = sizeof(Struct);

// The first fields of every struct. Extensions are not used.
template <class Struct>
struct Head {
  size_t struct_size = kStructSize<Struct>;
  void* extension_start = nullptr;
};

// Opaque objects that the plugin creates and releases.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Executable;
struct LoadedExecutable;
struct Buffer;
struct TopologyDescription;

// The numbers of absl::StatusCode.
enum class ErrorCode : uint32_t {
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
};

enum class NamedValueType : uint32_t {
  kString = 0,
  kInt64 = 1,
  kInt64List = 2,
  kFloat = 3,
  kBool = 4,
};

enum class BufferType : uint32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF32 = 11,
  kF64 = 12,
  kBf16 = 13,
};

enum class HostBufferSemantics : uint32_t { kImmutableOnlyDuringCall = 0 };

struct ApiVersion {
  Head<ApiVersion> head;
  int major_version = kApiMajor;
  int minor_version = kApiMinor;
};

// An option for a plugin, or an attribute that it reports. value_size: characters of a string,
// numbers of a list, 1 for a number.
struct NamedValue {
  Head<NamedValue> head;
  const char* name = nullptr;
  size_t name_size = 0;
  NamedValueType type = NamedValueType::kString;
  union {
    const char* string_value = nullptr;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;
};

struct Program {
  Head<Program> head;
  char* code = nullptr;
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};

// Arguments of the functions. Each takes a pointer to its own struct. The plugin stores results in
// the fields that callers do not set.

struct ErrorDestroyArgs {
  Head<ErrorDestroyArgs> head;
  Error* error = nullptr;
};

struct ErrorMessageArgs {
  Head<ErrorMessageArgs> head;
  const Error* error = nullptr;
  const char* message = nullptr;  // the error's
  size_t message_size = 0;
};

struct ErrorGetCodeArgs {
  Head<ErrorGetCodeArgs> head;
  const Error* error = nullptr;
  ErrorCode code = ErrorCode::kUnknown;
};
template <>
inline constexpr size_t kStructSize<ErrorGetCodeArgs> = offsetof(ErrorGetCodeArgs, code) +
                                                        sizeof(ErrorCode);

struct PluginInitializeArgs {
  Head<PluginInitializeArgs> head;
};

struct EventDestroyArgs {
  Head<EventDestroyArgs> head;
  Event* event = nullptr;
};

struct EventAwaitArgs {
  Head<EventAwaitArgs> head;
  Event* event = nullptr;
};

// Creates an error object of the plugin, with a copy of the message.
using CallbackError = Error* (*)(ErrorCode code, const char* message, size_t message_size);

// Callbacks by which a plugin exchanges data with the other processes of a client. The answering
// side stores a value, which the plugin copies and then frees through value_deleter_callback.
struct KeyValueGetCallbackArgs {
  Head<KeyValueGetCallbackArgs> head;
  const char* key = nullptr;
  size_t key_size = 0;
  int timeout_in_ms = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
  char* value = nullptr;
  size_t value_size = 0;
  void (*value_deleter_callback)(char* value) = nullptr;
};
using KeyValueGetCallback = Error* (*)(KeyValueGetCallbackArgs* args);

struct KeyValueTryGetCallbackArgs {
  Head<KeyValueTryGetCallbackArgs> head;
  const char* key = nullptr;
  size_t key_size = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
  char* value = nullptr;
  size_t value_size = 0;
  void (*value_deleter_callback)(char* value) = nullptr;
};
using KeyValueTryGetCallback = Error* (*)(KeyValueTryGetCallbackArgs* args);

struct KeyValuePutCallbackArgs {
  Head<KeyValuePutCallbackArgs> head;
  const char* key = nullptr;
  size_t key_size = 0;
  const char* value = nullptr;
  size_t value_size = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
};
using KeyValuePutCallback = Error* (*)(KeyValuePutCallbackArgs* args);

// The callbacks are only for clients of several processes.
struct ClientCreateArgs {
  Head<ClientCreateArgs> head;
  const NamedValue* create_options = nullptr;
  size_t num_options = 0;
  KeyValueGetCallback kv_get_callback = nullptr;
  void* kv_get_user_arg = nullptr;
  KeyValuePutCallback kv_put_callback = nullptr;
  void* kv_put_user_arg = nullptr;
  Client* client = nullptr;
  KeyValueTryGetCallback kv_try_get_callback = nullptr;
  void* kv_try_get_user_arg = nullptr;
};

struct ClientDestroyArgs {
  Head<ClientDestroyArgs> head;
  Client* client = nullptr;
};

struct ClientPlatformNameArgs {
  Head<ClientPlatformNameArgs> head;
  Client* client = nullptr;
  const char* platform_name = nullptr;
  size_t platform_name_size = 0;
};

struct ClientPlatformVersionArgs {
  Head<ClientPlatformVersionArgs> head;
  Client* client = nullptr;
  const char* platform_version = nullptr;
  size_t platform_version_size = 0;
};

struct ClientAddressableDevicesArgs {
  Head<ClientAddressableDevicesArgs> head;
  Client* client = nullptr;
  Device* const* addressable_devices = nullptr;
  size_t num_addressable_devices = 0;
};

// compile_options: a serialized CompileOptionsProto.
struct ClientCompileArgs {
  Head<ClientCompileArgs> head;
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;
  size_t compile_options_size = 0;
  LoadedExecutable* executable = nullptr;
};

// Without byte_strides the data is row-major; without memory and device_layout the device's default
// is used.
struct ClientBufferFromHostBufferArgs {
  Head<ClientBufferFromHostBufferArgs> head;
  Client* client = nullptr;
  const void* data = nullptr;
  BufferType type = {};
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;
  size_t num_byte_strides = 0;
  HostBufferSemantics host_buffer_semantics = {};
  Device* device = nullptr;
  void* memory = nullptr;
  void* device_layout = nullptr;
  Event* done_with_host_buffer = nullptr;
  Buffer* buffer = nullptr;
};

struct DeviceGetDescriptionArgs {
  Head<DeviceGetDescriptionArgs> head;
  Device* device = nullptr;
  DeviceDescription* device_description = nullptr;
};

struct DeviceDescriptionIdArgs {
  Head<DeviceDescriptionIdArgs> head;
  DeviceDescription* device_description = nullptr;
  int id = 0;
};
template <>
inline constexpr size_t kStructSize<DeviceDescriptionIdArgs> = offsetof(DeviceDescriptionIdArgs,
                                                                        id) +
                                                               sizeof(int);

struct DeviceDescriptionKindArgs {
  Head<DeviceDescriptionKindArgs> head;
  DeviceDescription* device_description = nullptr;
  const char* device_kind = nullptr;
  size_t device_kind_size = 0;
};

struct ExecutableDestroyArgs {
  Head<ExecutableDestroyArgs> head;
  Executable* executable = nullptr;
};

struct ExecutableNumOutputsArgs {
  Head<ExecutableNumOutputsArgs> head;
  Executable* executable = nullptr;
  size_t num_outputs = 0;
};

struct ExecutableGetCostAnalysisArgs {
  Head<ExecutableGetCostAnalysisArgs> head;
  Executable* executable = nullptr;
  size_t num_properties = 0;
  const NamedValue* properties = nullptr;  // the executable's
};

struct ExecutableGetCompiledMemoryStatsArgs {
  Head<ExecutableGetCompiledMemoryStatsArgs> head;
  Executable* executable = nullptr;
  int64_t generated_code_size_in_bytes = 0;
  int64_t argument_size_in_bytes = 0;
  int64_t output_size_in_bytes = 0;
  int64_t alias_size_in_bytes = 0;
  int64_t temp_size_in_bytes = 0;
  int64_t host_generated_code_size_in_bytes = 0;
  int64_t host_argument_size_in_bytes = 0;
  int64_t host_output_size_in_bytes = 0;
  int64_t host_alias_size_in_bytes = 0;
  int64_t host_temp_size_in_bytes = 0;
  int64_t peak_memory_in_bytes = 0;
};

struct LoadedExecutableDestroyArgs {
  Head<LoadedExecutableDestroyArgs> head;
  LoadedExecutable* executable = nullptr;
};

// The caller destroys the executable.
struct LoadedExecutableGetExecutableArgs {
  Head<LoadedExecutableGetExecutableArgs> head;
  LoadedExecutable* loaded_executable = nullptr;
  Executable* executable = nullptr;
};

struct ExecuteOptions {
  Head<ExecuteOptions> head;
  void** send_callbacks = nullptr;
  void** recv_callbacks = nullptr;
  size_t num_send_ops = 0;
  size_t num_recv_ops = 0;
  int launch_id = 0;
  const int64_t* non_donatable_input_indices = nullptr;
  size_t num_non_donatable_input_indices = 0;
  void* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};

// Lists by device: num_args buffers each, space for the program's results, and one event.
struct LoadedExecutableExecuteArgs {
  Head<LoadedExecutableExecuteArgs> head;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* argument_lists = nullptr;
  size_t num_devices = 0;
  size_t num_args = 0;
  Buffer** const* output_lists = nullptr;
  Event** device_complete_events = nullptr;
  Device* execute_device = nullptr;
};

struct BufferDestroyArgs {
  Head<BufferDestroyArgs> head;
  Buffer* buffer = nullptr;
};

struct BufferElementTypeArgs {
  Head<BufferElementTypeArgs> head;
  Buffer* buffer = nullptr;
  BufferType type = {};
};
template <>
inline constexpr size_t kStructSize<BufferElementTypeArgs> = offsetof(BufferElementTypeArgs, type) +
                                                             sizeof(BufferType);

struct BufferDimensionsArgs {
  Head<BufferDimensionsArgs> head;
  Buffer* buffer = nullptr;
  const int64_t* dims = nullptr;  // the buffer's
  size_t num_dims = 0;
};

// Without host_layout the result is row-major.
struct BufferToHostBufferArgs {
  Head<BufferToHostBufferArgs> head;
  Buffer* src = nullptr;
  void* host_layout = nullptr;
  void* dst = nullptr;
  size_t dst_size = 0;
  Event* event = nullptr;
};

struct TopologyDescriptionCreateArgs {
  Head<TopologyDescriptionCreateArgs> head;
  const char* topology_name = nullptr;
  size_t topology_name_size = 0;
  const NamedValue* create_options = nullptr;
  size_t num_options = 0;
  TopologyDescription* topology = nullptr;
};

struct TopologyDescriptionDestroyArgs {
  Head<TopologyDescriptionDestroyArgs> head;
  TopologyDescription* topology = nullptr;
};

struct TopologyDescriptionPlatformNameArgs {
  Head<TopologyDescriptionPlatformNameArgs> head;
  const TopologyDescription* topology = nullptr;
  const char* platform_name = nullptr;
  size_t platform_name_size = 0;
};

struct TopologyDescriptionPlatformVersionArgs {
  Head<TopologyDescriptionPlatformVersionArgs> head;
  TopologyDescription* topology = nullptr;
  const char* platform_version = nullptr;
  size_t platform_version_size = 0;
};

struct TopologyDescriptionGetDeviceDescriptionsArgs {
  Head<TopologyDescriptionGetDeviceDescriptionsArgs> head;
  const TopologyDescription* topology = nullptr;
  DeviceDescription* const* descriptions = nullptr;
  size_t num_descriptions = 0;
};

struct TopologyDescriptionAttributesArgs {
  Head<TopologyDescriptionAttributesArgs> head;
  TopologyDescription* topology = nullptr;
  const NamedValue* attributes = nullptr;
  size_t num_attributes = 0;
};

// Without a client nothing is loaded.
struct CompileArgs {
  Head<CompileArgs> head;
  const TopologyDescription* topology = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;
  size_t compile_options_size = 0;
  Client* client = nullptr;
  Executable* executable = nullptr;
};

// A function of the interface: nullptr, or an error that the caller destroys.
template <class Args>
using Function = Error* (*)(Args* args);
template <class Args>
using Procedure = void (*)(Args* args);
// An entry of the table that tpuest does not call.
using Unused = void (*)();

// The table that a plugin's GetPjrtApi returns, up to the last function that tpuest calls. An older
// plugin's table may be shorter: see struct_size.
struct Api {
  Head<Api> head;
  ApiVersion pjrt_api_version;
  Procedure<ErrorDestroyArgs> error_destroy;
  Procedure<ErrorMessageArgs> error_message;
  Function<ErrorGetCodeArgs> error_get_code;
  Function<PluginInitializeArgs> plugin_initialize;
  Unused plugin_attributes;
  Function<EventDestroyArgs> event_destroy;
  Unused event_is_ready, event_error;
  Function<EventAwaitArgs> event_await;
  Unused event_on_ready;
  Function<ClientCreateArgs> client_create;
  Function<ClientDestroyArgs> client_destroy;
  Function<ClientPlatformNameArgs> client_platform_name;
  Unused client_process_index;
  Function<ClientPlatformVersionArgs> client_platform_version;
  Unused client_devices;
  Function<ClientAddressableDevicesArgs> client_addressable_devices;
  Unused client_lookup_device, client_lookup_addressable_device, client_addressable_memories;
  Function<ClientCompileArgs> client_compile;
  Unused client_default_device_assignment;
  Function<ClientBufferFromHostBufferArgs> client_buffer_from_host_buffer;
  Function<DeviceDescriptionIdArgs> device_description_id;
  Unused device_description_process_index, device_description_attributes;
  Function<DeviceDescriptionKindArgs> device_description_kind;
  Unused device_description_debug_string, device_description_to_string;
  Function<DeviceGetDescriptionArgs> device_get_description;
  Unused device_is_addressable, device_local_hardware_id;
  Unused device_addressable_memories, device_default_memory, device_memory_stats;
  Unused memory_id, memory_kind, memory_debug_string, memory_to_string;
  Unused memory_addressable_by_devices;
  Function<ExecutableDestroyArgs> executable_destroy;
  Unused executable_name, executable_num_replicas, executable_num_partitions;
  Function<ExecutableNumOutputsArgs> executable_num_outputs;
  Unused executable_size_of_generated_code_in_bytes;
  Function<ExecutableGetCostAnalysisArgs> executable_get_cost_analysis;
  Unused executable_output_memory_kinds, executable_optimized_program, executable_serialize;
  Function<LoadedExecutableDestroyArgs> loaded_executable_destroy;
  Function<LoadedExecutableGetExecutableArgs> loaded_executable_get_executable;
  Unused loaded_executable_addressable_devices, loaded_executable_delete;
  Unused loaded_executable_is_deleted;
  Function<LoadedExecutableExecuteArgs> loaded_executable_execute;
  Unused executable_deserialize_and_load, loaded_executable_fingerprint;
  Function<BufferDestroyArgs> buffer_destroy;
  Function<BufferElementTypeArgs> buffer_element_type;
  Function<BufferDimensionsArgs> buffer_dimensions;
  Unused buffer_unpadded_dimensions, buffer_dynamic_dimension_indices, buffer_get_memory_layout;
  Unused buffer_on_device_size_in_bytes, buffer_device, buffer_memory, buffer_delete;
  Unused buffer_is_deleted, buffer_copy_to_device;
  Function<BufferToHostBufferArgs> buffer_to_host_buffer;
  Unused buffer_is_on_cpu, buffer_ready_event, buffer_unsafe_pointer;
  Unused buffer_increase_external_reference_count, buffer_decrease_external_reference_count;
  Unused buffer_opaque_device_memory_data_pointer;
  Unused copy_to_device_stream_destroy, copy_to_device_stream_add_chunk;
  Unused copy_to_device_stream_total_bytes, copy_to_device_stream_granule_size;
  Unused copy_to_device_stream_current_bytes;
  Function<TopologyDescriptionCreateArgs> topology_description_create;
  Function<TopologyDescriptionDestroyArgs> topology_description_destroy;
  Function<TopologyDescriptionPlatformNameArgs> topology_description_platform_name;
  Function<TopologyDescriptionPlatformVersionArgs> topology_description_platform_version;
  Function<TopologyDescriptionGetDeviceDescriptionsArgs>
      topology_description_get_device_descriptions;
  Unused topology_description_serialize;
  Function<TopologyDescriptionAttributesArgs> topology_description_attributes;
  Function<CompileArgs> compile;
  Unused executable_output_element_types, executable_output_dimensions, buffer_copy_to_memory;
  Unused client_create_view_of_device_buffer, executable_fingerprint;
  Unused client_topology_description;
  Function<ExecutableGetCompiledMemoryStatsArgs> executable_get_compiled_memory_stats;
};

}  // namespace tpuest::pjrt
