#include "core/backend/pjrt/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "core/backend/pjrt/api.h"
#include "core/backend/pjrt/log.h"

namespace tpuest {
namespace {

// Owns a buffer on a device.
class Buffer final : public PjrtBuffer {
 public:
  Buffer(const PjrtApi& api, PJRT_Buffer* buffer) : api_(api), buffer_(buffer) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() override {
    PJRT_ARGS(destroy, PJRT_Buffer_Destroy_Args);
    destroy.buffer = buffer_;
    api_->PJRT_Buffer_Destroy(&destroy);
  }
  [[nodiscard]] PJRT_Buffer* get() const { return buffer_; }

  [[nodiscard]] Tensor ToHost() const override {
    PJRT_ARGS(type, PJRT_Buffer_ElementType_Args);
    type.buffer = buffer_;
    api_.Need(api_->PJRT_Buffer_ElementType(&type), "reading a result", Code::kLost);
    PJRT_ARGS(dims, PJRT_Buffer_Dimensions_Args);
    dims.buffer = buffer_;
    api_.Need(api_->PJRT_Buffer_Dimensions(&dims), "reading a result", Code::kLost);
    Tensor tensor(DTypeOf(type.type), Shape({dims.dims, dims.dims + dims.num_dims}));
    PJRT_ARGS(copy, PJRT_Buffer_ToHostBuffer_Args);
    copy.src = buffer_;
    copy.dst = tensor.raw();
    copy.dst_size = tensor.bytes();
    api_.Need(api_->PJRT_Buffer_ToHostBuffer(&copy), "reading a result", Code::kLost);
    api_.Await(copy.event, "reading a result");
    return tensor;
  }

 private:
  const PjrtApi& api_;
  PJRT_Buffer* buffer_;
};

struct DestroyEvent {
  const PjrtApi* api = nullptr;
  void operator()(PJRT_Event* event) const {
    PJRT_ARGS(destroy, PJRT_Event_Destroy_Args);
    destroy.event = event;
    (*api)->PJRT_Event_Destroy(&destroy);
  }
};
using EventPtr = std::unique_ptr<PJRT_Event, DestroyEvent>;

struct DestroyClient {
  const PjrtApi* api = nullptr;
  void operator()(PJRT_Client* client) const {
    PJRT_ARGS(destroy, PJRT_Client_Destroy_Args);
    destroy.client = client;
    (*api)->PJRT_Client_Destroy(&destroy);
  }
};
using ClientPtr = std::unique_ptr<PJRT_Client, DestroyClient>;

// Owns a program that is loaded on the client's devices. The number of its results is read once:
// Execute has to bring room for them.
class Executable final : public PjrtExecutable {
 public:
  Executable(const PjrtApi& api, PJRT_LoadedExecutable* executable)
      : api_(api), executable_(executable) {
    PJRT_ARGS(get, PJRT_LoadedExecutable_GetExecutable_Args);
    get.loaded_executable = executable_;
    api_.Need(api_->PJRT_LoadedExecutable_GetExecutable(&get), "reading a program");
    PJRT_ARGS(count, PJRT_Executable_NumOutputs_Args);
    count.executable = get.executable;
    api_.Need(api_->PJRT_Executable_NumOutputs(&count), "reading a program");
    outputs_ = count.num_outputs;
    PJRT_ARGS(destroy, PJRT_Executable_Destroy_Args);
    destroy.executable = get.executable;
    api_->PJRT_Executable_Destroy(&destroy);
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable() override {
    PJRT_ARGS(destroy, PJRT_LoadedExecutable_Destroy_Args);
    destroy.executable = executable_;
    api_->PJRT_LoadedExecutable_Destroy(&destroy);
  }

  // The interface takes arrays of arrays by pointer: given and made own the inner ones, the lists
  // the outer. Results get owners before anything can throw.
  std::vector<std::vector<PjrtBufferPtr>> Execute(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) override {
    const size_t replicas = arguments.size();
    std::vector<std::vector<PJRT_Buffer*>> given(replicas);
    std::vector<std::vector<PJRT_Buffer*>> made(replicas, std::vector<PJRT_Buffer*>(outputs_));
    std::vector<PJRT_Buffer* const*> argument_lists;
    std::vector<PJRT_Buffer**> output_lists;
    for (size_t r = 0; r < replicas; ++r) {
      for (const PjrtBuffer* const argument : arguments[r]) {
        given[r].push_back(static_cast<const Buffer*>(argument)->get());
      }
      argument_lists.push_back(given[r].data());
      output_lists.push_back(made[r].data());
    }
    std::vector<PJRT_Event*> events(replicas, nullptr);
    PJRT_ARGS(options, PJRT_ExecuteOptions);
    PJRT_ARGS(args, PJRT_LoadedExecutable_Execute_Args);
    args.executable = executable_;
    args.options = &options;
    args.argument_lists = argument_lists.data();
    args.num_devices = replicas;
    args.num_args = given.front().size();
    args.output_lists = output_lists.data();
    args.device_complete_events = events.data();
    api_.Need(api_->PJRT_LoadedExecutable_Execute(&args), "running a program", Code::kLost);
    std::vector<EventPtr> done;
    for (PJRT_Event* const event : events) done.emplace_back(event, DestroyEvent{&api_});
    std::vector<std::vector<PjrtBufferPtr>> outputs(replicas);
    for (size_t r = 0; r < replicas; ++r) {
      for (PJRT_Buffer* const buffer : made[r]) {
        outputs[r].push_back(std::make_unique<Buffer>(api_, buffer));
      }
    }
    for (EventPtr& event : done) api_.Await(event.release(), "running a program");
    return outputs;
  }

 private:
  const PjrtApi& api_;
  PJRT_LoadedExecutable* executable_;
  size_t outputs_ = 0;
};

// Says that this machine has no TPU where that is so. Otherwise libtpu asks the cloud's metadata
// server what the machine is, for minutes.
void SetTpuVariables() {
  const bool has_tpu = ::access("/dev/accel0", F_OK) == 0 || ::access("/dev/vfio", F_OK) == 0;
  if (!has_tpu) ::setenv("TPU_SKIP_MDS_QUERY", "1", /*overwrite=*/0);
}

// A plugin, started: the order of the members matters, since the client goes before the interface.
class Client final : public PjrtClient {
 public:
  Client(const std::string& path, int cpu_devices, PjrtLogging logging) : api_(path, logging) {
    constexpr std::string_view kDevices = "cpu_device_count";
    PJRT_ARGS(option, PJRT_NamedValue);
    option.name = kDevices.data();
    option.name_size = kDevices.size();
    option.type = PJRT_NamedValue_kInt64;
    option.int64_value = cpu_devices;
    option.value_size = 1;
    PJRT_ARGS(create, PJRT_Client_Create_Args);
    create.create_options = &option;
    create.num_options = cpu_devices > 0 ? 1 : 0;
    NeedFunctions();
    {
      const PjrtSilence silence(logging);
      api_.NeedStart(api_->PJRT_Client_Create(&create));
    }
    client_ = ClientPtr(create.client, DestroyClient{&api_});
    PJRT_ARGS(devices, PJRT_Client_AddressableDevices_Args);
    devices.client = client_.get();
    api_.Need(api_->PJRT_Client_AddressableDevices(&devices), "listing devices");
    devices_.assign(devices.addressable_devices,
                    devices.addressable_devices + devices.num_addressable_devices);
  }

  [[nodiscard]] std::string platform() const override {
    PJRT_ARGS(args, PJRT_Client_PlatformName_Args);
    args.client = client_.get();
    api_.Need(api_->PJRT_Client_PlatformName(&args), "naming the platform");
    return {args.platform_name, args.platform_name_size};
  }
  [[nodiscard]] std::string version() const override {
    PJRT_NEED_FUNCTION(api_, PJRT_Client_PlatformVersion);
    PJRT_ARGS(args, PJRT_Client_PlatformVersion_Args);
    args.client = client_.get();
    api_.Need(api_->PJRT_Client_PlatformVersion(&args), "naming the version");
    return {args.platform_version, args.platform_version_size};
  }
  [[nodiscard]] int devices() const override { return static_cast<int>(devices_.size()); }

  std::unique_ptr<PjrtExecutable> Compile(const std::string& module, int replicas) override {
    CheckReplicas(replicas, devices(), api_.path(), "devices");
    std::string code = module;
    PJRT_Program program = PjrtProgramOf(code);
    const std::string options = PjrtCompileOptions(replicas);
    PJRT_ARGS(compile, PJRT_Client_Compile_Args);
    compile.client = client_.get();
    compile.program = &program;
    compile.compile_options = options.data();
    compile.compile_options_size = options.size();
    // Lines that the plugin writes about the failure are kept away: the Error holds its message.
    std::optional<PjrtFailure> failure;
    {
      const PjrtSilence silence(api_.logging());
      failure = api_.Take(api_->PJRT_Client_Compile(&compile));
    }
    if (failure) api_.ThrowCompileError(*failure, module);
    return std::make_unique<Executable>(api_, compile.executable);
  }

  PjrtBufferPtr ToDevice(const Tensor& tensor, int replica) override {
    PJRT_ARGS(args, PJRT_Client_BufferFromHostBuffer_Args);
    args.client = client_.get();
    args.data = tensor.raw();
    args.type = PjrtTypeOf(tensor.dtype());
    args.dims = tensor.shape().dims().data();
    args.num_dims = tensor.shape().dims().size();
    // The tensor may change once this returns, so the plugin copies before.
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = devices_.at(static_cast<size_t>(replica));
    api_.Need(api_->PJRT_Client_BufferFromHostBuffer(&args), "copying to the device", Code::kLost);
    auto buffer = std::make_unique<Buffer>(api_, args.buffer);
    api_.Await(args.done_with_host_buffer, "copying to the device");
    return buffer;
  }

 private:
  // All that is called here is asked for at the start: an old plugin is refused by name, and not by
  // a crash in the first step.
  void NeedFunctions() const {
    PJRT_NEED_FUNCTION(api_, PJRT_Client_Create);
    PJRT_NEED_FUNCTION(api_, PJRT_Client_Destroy);
    PJRT_NEED_FUNCTION(api_, PJRT_Client_PlatformName);
    PJRT_NEED_FUNCTION(api_, PJRT_Client_AddressableDevices);
    PJRT_NEED_FUNCTION(api_, PJRT_Client_Compile);
    PJRT_NEED_FUNCTION(api_, PJRT_Client_BufferFromHostBuffer);
    PJRT_NEED_FUNCTION(api_, PJRT_Executable_NumOutputs);
    PJRT_NEED_FUNCTION(api_, PJRT_Executable_Destroy);
    PJRT_NEED_FUNCTION(api_, PJRT_LoadedExecutable_GetExecutable);
    PJRT_NEED_FUNCTION(api_, PJRT_LoadedExecutable_Execute);
    PJRT_NEED_FUNCTION(api_, PJRT_LoadedExecutable_Destroy);
    PJRT_NEED_FUNCTION(api_, PJRT_Buffer_ElementType);
    PJRT_NEED_FUNCTION(api_, PJRT_Buffer_Dimensions);
    PJRT_NEED_FUNCTION(api_, PJRT_Buffer_ToHostBuffer);
    PJRT_NEED_FUNCTION(api_, PJRT_Buffer_Destroy);
  }

  PjrtApi api_;
  ClientPtr client_;
  std::vector<PJRT_Device*> devices_;
};

}  // namespace

std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, int cpu_devices,
                                           PjrtLogging logging) {
  SetTpuVariables();
  return std::make_unique<Client>(path, cpu_devices, logging);
}

bool HasPjrt() { return true; }

}  // namespace tpuest
