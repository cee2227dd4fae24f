#include "core/backend/pjrt/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "core/backend/pjrt/api.h"
#include "core/backend/pjrt/client_options.h"
#include "core/backend/pjrt/log.h"
#include "core/backend/pjrt/processes.h"

namespace tpuest {
namespace {

// Owns a buffer on a device.
class Buffer final : public PjrtBuffer {
 public:
  Buffer(const PjrtApi& api, pjrt::Buffer* buffer) : api_(api), buffer_(buffer) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() override {
    pjrt::BufferDestroyArgs destroy{.buffer = buffer_};
    api_->buffer_destroy(&destroy);
  }
  [[nodiscard]] pjrt::Buffer* get() const { return buffer_; }

  [[nodiscard]] Tensor ToHost() const override {
    pjrt::BufferElementTypeArgs type{.buffer = buffer_};
    api_.Need(api_->buffer_element_type(&type), "reading a result", Code::kLost);
    pjrt::BufferDimensionsArgs dims{.buffer = buffer_};
    api_.Need(api_->buffer_dimensions(&dims), "reading a result", Code::kLost);
    Tensor tensor(DTypeOf(type.type), Shape({dims.dims, dims.dims + dims.num_dims}));
    pjrt::BufferToHostBufferArgs copy{
        .src = buffer_,
        .dst = tensor.raw(),
        .dst_size = tensor.bytes(),
    };
    api_.Need(api_->buffer_to_host_buffer(&copy), "reading a result", Code::kLost);
    api_.Await(copy.event, "reading a result");
    return tensor;
  }

 private:
  const PjrtApi& api_;
  pjrt::Buffer* buffer_;
};

struct DestroyEvent {
  const PjrtApi* api = nullptr;
  void operator()(pjrt::Event* event) const {
    pjrt::EventDestroyArgs destroy{.event = event};
    (*api)->event_destroy(&destroy);
  }
};
using EventPtr = std::unique_ptr<pjrt::Event, DestroyEvent>;

struct DestroyClient {
  const PjrtApi* api = nullptr;
  void operator()(pjrt::Client* client) const {
    pjrt::ClientDestroyArgs destroy{.client = client};
    (*api)->client_destroy(&destroy);
  }
};
using ClientPtr = std::unique_ptr<pjrt::Client, DestroyClient>;

// Owns a program that is loaded on the client's devices. Reads the number of results once, because
// Execute must provide space for them.
class Executable final : public PjrtExecutable {
 public:
  Executable(const PjrtApi& api, pjrt::LoadedExecutable* executable)
      : api_(api), executable_(executable) {
    pjrt::LoadedExecutableGetExecutableArgs get{.loaded_executable = executable_};
    api_.Need(api_->loaded_executable_get_executable(&get), "reading a program");
    pjrt::ExecutableNumOutputsArgs count{.executable = get.executable};
    api_.Need(api_->executable_num_outputs(&count), "reading a program");
    outputs_ = count.num_outputs;
    pjrt::ExecutableDestroyArgs destroy{.executable = get.executable};
    api_->executable_destroy(&destroy);
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable() override {
    pjrt::LoadedExecutableDestroyArgs destroy{.executable = executable_};
    api_->loaded_executable_destroy(&destroy);
  }

  // The interface takes arrays of arrays by pointer: `given` and `made` own the inner arrays, the
  // lists the outer ones. Results get owners before any call can throw.
  std::vector<std::vector<PjrtBufferPtr>> Execute(
      const std::vector<std::vector<PjrtBuffer*>>& arguments) override {
    const size_t devices = arguments.size();
    std::vector<std::vector<pjrt::Buffer*>> given(devices);
    std::vector<std::vector<pjrt::Buffer*>> made(devices, std::vector<pjrt::Buffer*>(outputs_));
    std::vector<pjrt::Buffer* const*> argument_lists;
    std::vector<pjrt::Buffer**> output_lists;
    for (size_t d = 0; d < devices; ++d) {
      for (const PjrtBuffer* const argument : arguments[d]) {
        given[d].push_back(static_cast<const Buffer*>(argument)->get());
      }
      argument_lists.push_back(given[d].data());
      output_lists.push_back(made[d].data());
    }
    std::vector<pjrt::Event*> events(devices, nullptr);
    pjrt::ExecuteOptions options;
    pjrt::LoadedExecutableExecuteArgs args{
        .executable = executable_,
        .options = &options,
        .argument_lists = argument_lists.data(),
        .num_devices = devices,
        .num_args = given.front().size(),
        .output_lists = output_lists.data(),
        .device_complete_events = events.data(),
    };
    api_.Need(api_->loaded_executable_execute(&args), "running a program", Code::kLost);
    std::vector<EventPtr> done;
    for (pjrt::Event* const event : events) done.emplace_back(event, DestroyEvent{&api_});
    std::vector<std::vector<PjrtBufferPtr>> outputs(devices);
    for (size_t d = 0; d < devices; ++d) {
      for (pjrt::Buffer* const buffer : made[d]) {
        outputs[d].push_back(std::make_unique<Buffer>(api_, buffer));
      }
    }
    for (EventPtr& event : done) api_.Await(event.release(), "running a program");
    return outputs;
  }

 private:
  const PjrtApi& api_;
  pjrt::LoadedExecutable* executable_;
  size_t outputs_ = 0;
};

// Tells libtpu that this machine has no TPU if that is so. Otherwise libtpu queries the cloud's
// metadata server for minutes.
void SetTpuVariables() {
  const bool has_tpu = ::access("/dev/accel0", F_OK) == 0 || ::access("/dev/vfio", F_OK) == 0;
  if (!has_tpu) ::setenv("TPU_SKIP_MDS_QUERY", "1", /*overwrite=*/0);
}

// A flag of XLA (xla/xla.proto): a GPU's program adds in a fixed order and does not choose kernels
// by timing.
constexpr std::string_view kDeterministicFlag = "xla_gpu_deterministic_ops";

bool IsGpu(const std::string& platform) { return platform == "cuda" || platform == "rocm"; }

// All functions called in this file. They are checked at the start, so an old plugin is refused
// with a message instead of a crash in the first step.
constexpr PjrtFunction kClientFunctions[] = {
    {offsetof(pjrt::Api, client_create), "PJRT_Client_Create"},
    {offsetof(pjrt::Api, client_destroy), "PJRT_Client_Destroy"},
    {offsetof(pjrt::Api, client_platform_name), "PJRT_Client_PlatformName"},
    {offsetof(pjrt::Api, client_addressable_devices), "PJRT_Client_AddressableDevices"},
    {offsetof(pjrt::Api, client_compile), "PJRT_Client_Compile"},
    {offsetof(pjrt::Api, client_buffer_from_host_buffer), "PJRT_Client_BufferFromHostBuffer"},
    {offsetof(pjrt::Api, executable_num_outputs), "PJRT_Executable_NumOutputs"},
    {offsetof(pjrt::Api, executable_destroy), "PJRT_Executable_Destroy"},
    {offsetof(pjrt::Api, loaded_executable_get_executable), "PJRT_LoadedExecutable_GetExecutable"},
    {offsetof(pjrt::Api, loaded_executable_execute), "PJRT_LoadedExecutable_Execute"},
    {offsetof(pjrt::Api, loaded_executable_destroy), "PJRT_LoadedExecutable_Destroy"},
    {offsetof(pjrt::Api, buffer_element_type), "PJRT_Buffer_ElementType"},
    {offsetof(pjrt::Api, buffer_dimensions), "PJRT_Buffer_Dimensions"},
    {offsetof(pjrt::Api, buffer_to_host_buffer), "PJRT_Buffer_ToHostBuffer"},
    {offsetof(pjrt::Api, buffer_destroy), "PJRT_Buffer_Destroy"},
};
// Needed only by `tpuest doctor`.
constexpr PjrtFunction kVersionFunctions[] = {
    {offsetof(pjrt::Api, client_platform_version), "PJRT_Client_PlatformVersion"},
};

// Needed by a client of several processes, to know which devices are local.
constexpr PjrtFunction kProcessFunctions[] = {
    {offsetof(pjrt::Api, device_get_description), "PJRT_Device_GetDescription"},
    {offsetof(pjrt::Api, device_description_id), "PJRT_DeviceDescription_Id"},
};

bool IsLibtpu(const std::string& path) { return IsPluginOf("tpu", path); }
bool HasGpus(const std::string& path) { return !IsLibtpu(path) && !IsPluginOf("cpu", path); }

// A started plugin. The order of the members matters: the client is destroyed before the interface.
class Client final : public PjrtClient {
 public:
  Client(const std::string& path, int cpu_devices, PjrtLogging logging, const PjrtGpuOptions& gpu)
      : api_(path, logging) {
    ClientOptions options;
    if (HasGpus(path)) {
      AddGpuOptions(gpu, options);
      if (!gpu.visible_devices.empty()) options.Add("visible_devices", gpu.visible_devices);
    }
    if (cpu_devices > 0) options.Add("cpu_device_count", int64_t{cpu_devices});
    api_.NeedFunctions(kClientFunctions);
    std::optional<PjrtFailure> failure = Create(options, nullptr);
    if (failure) api_.ThrowStart(*failure);
    ListDevices();
  }

  Client(const std::string& path, const PjrtProcesses& processes, int devices, PjrtLogging logging,
         const PjrtGpuOptions& gpu)
      : api_(path, logging) {
    api_.NeedFunctions(kClientFunctions);
    api_.NeedFunctions(kProcessFunctions);
    ClientOptions options;
    if (HasGpus(path)) AddGpuOptions(gpu, options);
    if (!IsLibtpu(path)) AddProcesses(processes, devices, gpu.visible_devices, options);
    std::optional<PjrtFailure> failure = Create(options, processes.keys);
    if (failure && !IsLibtpu(path) && failure->text.find(kNewestOption) != std::string::npos) {
      options.DropLast();
      failure = Create(options, processes.keys);
    }
    if (failure) api_.ThrowStart(*failure);
    ListDevices();
    if (std::ssize(devices_) < devices) {
      throw Error(Code::kUsage,
                  fmt::format("{} has {} devices in process {}, but its replicas need {}", path,
                              devices_.size(), processes.rank, devices),
                  "use fewer replicas per process: tpu_config.num_shards, --processes")
          .Key("run_config.tpu_config.num_shards");
    }
    devices_.resize(static_cast<size_t>(devices));
    for (pjrt::Device* const device : devices_) own_ids_.push_back(IdOf(device));
    all_ids_ = DevicesOfAll(processes, own_ids_);
  }

  [[nodiscard]] std::string platform() const override {
    pjrt::ClientPlatformNameArgs args{.client = client_.get()};
    api_.Need(api_->client_platform_name(&args), "naming the platform");
    return {args.platform_name, args.platform_name_size};
  }
  [[nodiscard]] std::string version() const override {
    api_.NeedFunctions(kVersionFunctions);
    pjrt::ClientPlatformVersionArgs args{.client = client_.get()};
    api_.Need(api_->client_platform_version(&args), "naming the version");
    return {args.platform_version, args.platform_version_size};
  }
  [[nodiscard]] int devices() const override { return static_cast<int>(devices_.size()); }

  std::unique_ptr<PjrtExecutable> Compile(const std::string& module,
                                          const PjrtCompile& how) override {
    const std::vector<int64_t>& ids = how.of_all_processes ? all_ids_ : own_ids_;
    CheckReplicas(how.replicas, how.partitions,
                  how.of_all_processes ? static_cast<int>(ids.size()) : devices(), api_.path(),
                  "devices");
    std::string code = module;
    pjrt::Program program = PjrtProgramOf(code);
    const bool is_asked = how.is_deterministic && IsGpu(platform());
    const std::string options =
        PjrtCompileOptions(how.replicas, how.partitions, ids, is_asked ? kDeterministicFlag : "");
    pjrt::ClientCompileArgs compile{
        .client = client_.get(),
        .program = &program,
        .compile_options = options.data(),
        .compile_options_size = options.size(),
    };
    // Suppresses the plugin's log lines about the failure: the Error contains its message.
    std::optional<PjrtFailure> failure;
    {
      const PjrtSilence silence(api_.logging());
      failure = api_.Take(api_->client_compile(&compile));
    }
    if (failure) api_.ThrowCompileError(*failure, module);
    return std::make_unique<Executable>(api_, compile.executable);
  }

  PjrtBufferPtr ToDevice(const Tensor& tensor, int device) override {
    pjrt::ClientBufferFromHostBufferArgs args{
        .client = client_.get(),
        .data = tensor.raw(),
        .type = PjrtTypeOf(tensor.dtype()),
        .dims = tensor.shape().dims().data(),
        .num_dims = tensor.shape().dims().size(),
        // The tensor may change after the call, so the plugin must copy it before it returns.
        .host_buffer_semantics = pjrt::HostBufferSemantics::kImmutableOnlyDuringCall,
        .device = devices_.at(static_cast<size_t>(device)),
    };
    api_.Need(api_->client_buffer_from_host_buffer(&args), "copying to the device", Code::kLost);
    auto buffer = std::make_unique<Buffer>(api_, args.buffer);
    api_.Await(args.done_with_host_buffer, "copying to the device");
    return buffer;
  }

 private:
  // Creates the client; returns the plugin's message if it cannot.
  std::optional<PjrtFailure> Create(const ClientOptions& options, KeyValueStore* keys) {
    const std::vector<pjrt::NamedValue> values = options.Values();
    pjrt::ClientCreateArgs create{.create_options = values.data(), .num_options = values.size()};
    if (keys != nullptr) UseKeys(*keys, create);
    const PjrtSilence silence(api_.logging());
    std::optional<PjrtFailure> failure = api_.Take(api_->client_create(&create));
    if (!failure) client_ = ClientPtr(create.client, DestroyClient{&api_});
    return failure;
  }

  void ListDevices() {
    pjrt::ClientAddressableDevicesArgs devices{.client = client_.get()};
    api_.Need(api_->client_addressable_devices(&devices), "listing devices");
    devices_.assign(devices.addressable_devices,
                    devices.addressable_devices + devices.num_addressable_devices);
  }

  [[nodiscard]] int64_t IdOf(pjrt::Device* device) const {
    pjrt::DeviceGetDescriptionArgs description{.device = device};
    api_.Need(api_->device_get_description(&description), "listing devices");
    pjrt::DeviceDescriptionIdArgs id{.device_description = description.device_description};
    api_.Need(api_->device_description_id(&id), "listing devices");
    return id.id;
  }

  PjrtApi api_;
  ClientPtr client_;
  std::vector<pjrt::Device*> devices_;
  // With several processes: the ids of this process's devices, and those of all processes by rank.
  std::vector<int64_t> own_ids_;
  std::vector<int64_t> all_ids_;
};

}  // namespace

std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, const PjrtProcesses& processes,
                                           int devices, PjrtLogging logging,
                                           const PjrtGpuOptions& gpu) {
  SetTpuVariables();
  return std::make_unique<Client>(path, processes, devices, logging, gpu);
}

std::unique_ptr<PjrtClient> LoadPjrtPlugin(const std::string& path, int cpu_devices,
                                           PjrtLogging logging, const PjrtGpuOptions& gpu) {
  SetTpuVariables();
  return std::make_unique<Client>(path, cpu_devices, logging, gpu);
}

}  // namespace tpuest
