// A PJRT plugin whose clients have devices of several processes, as XLA's GPU plugin has; it
// replaces that plugin on machines without a GPU. XLA's CPU plugin computes. Its devices belong to
// only one process, so every process has a client with the devices of all and shows only its own.
// It runs a program of all processes on all devices, with the arguments that the other processes
// send by the key-value callbacks.
//
//   TPUEST_PLUGINS           has cpu/xla_cpu_pjrt.so
//   STAND_IN_NOTES           a folder: options.RANK gets the options of a client, a line each;
//                            flags.RANK those of a compilation; hangs.RANK is there once that
//                            process hangs
//   STAND_IN_LACKS           an option that is refused, as an older plugin does
//   STAND_IN_HANGS           "RANK RUN": that process never comes back from that run of a program
//                            of all; the others never come back from waiting for it

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/pjrt/c_api.h"

struct tpuest::pjrt::Error {
  pjrt::ErrorCode code;
  std::string text;
};

namespace {

namespace pjrt = tpuest::pjrt;

struct LoadedExecutableAddressableDevicesArgs {
  pjrt::Head<LoadedExecutableAddressableDevicesArgs> head;
  pjrt::LoadedExecutable* executable = nullptr;
  pjrt::Device* const* addressable_devices = nullptr;
  size_t num_addressable_devices = 0;
};

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const pjrt::Api& Cpu() {
  static const pjrt::Api* const api = [] {
    const std::string path = Variable("TPUEST_PLUGINS") + "/cpu/xla_cpu_pjrt.so";
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    return reinterpret_cast<const pjrt::Api* (*)()>(::dlsym(library, "GetPjrtApi"))();
  }();
  return *api;
}

[[noreturn]] void Hang() {
  while (true) ::pause();
}

// The only client.
struct Processes {
  int64_t rank = 0;
  int64_t size = 1;
  size_t devices_of_each = 1;
  pjrt::ClientCreateArgs callbacks;
  pjrt::Client* client = nullptr;
  std::vector<pjrt::Device*> devices;  // of all processes, by rank
  int64_t runs = 0;
} here;

void Note(const std::string& what, const std::string& text) {
  const std::string folder = Variable("STAND_IN_NOTES");
  if (folder.empty()) return;
  const std::string path = folder + "/" + what + "." + std::to_string(here.rank);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

// ---- errors: the CPU plugin's and ours
// --------------------------------------------------------------

std::mutex ours_mutex;
std::set<const pjrt::Error*> ours;

pjrt::Error* Fails(pjrt::ErrorCode code, const std::string& text) {
  auto* const error = new pjrt::Error{code, text};
  const std::lock_guard lock(ours_mutex);
  ours.insert(error);
  return error;
}
pjrt::Error* CallbackFails(pjrt::ErrorCode code, const char* message, size_t size) {
  return Fails(code, {message, size});
}
bool IsOurs(const pjrt::Error* error) {
  const std::lock_guard lock(ours_mutex);
  return ours.contains(error);
}
void ErrorDestroy(pjrt::ErrorDestroyArgs* args) {
  if (!IsOurs(args->error)) return Cpu().error_destroy(args);
  const std::lock_guard lock(ours_mutex);
  ours.erase(args->error);
  delete args->error;
}
void ErrorMessage(pjrt::ErrorMessageArgs* args) {
  if (!IsOurs(args->error)) return Cpu().error_message(args);
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}
pjrt::Error* ErrorGetCode(pjrt::ErrorGetCodeArgs* args) {
  if (!IsOurs(args->error)) return Cpu().error_get_code(args);
  args->code = args->error->code;
  return nullptr;
}
void Must(pjrt::Error* error) {
  if (error == nullptr) return;
  pjrt::ErrorMessageArgs message{.error = error};
  ErrorMessage(&message);
  std::fprintf(stderr, "stand-in: %.*s\n", static_cast<int>(message.message_size), message.message);
  std::abort();
}

// ---- keys
// ---------------------------------------------------------------------------------------------

pjrt::CallbackError callback_fails = CallbackFails;

void Put(const std::string& key, const std::string& value) {
  pjrt::KeyValuePutCallbackArgs put{.key = key.data(),
                                    .key_size = key.size(),
                                    .value = value.data(),
                                    .value_size = value.size(),
                                    .callback_error = &callback_fails,
                                    .user_arg = here.callbacks.kv_put_user_arg};
  Must(here.callbacks.kv_put_callback(&put));
}

// Like a GPU's collective, it is not told of a verdict and waits on.
std::string Get(const std::string& key) {
  pjrt::KeyValueGetCallbackArgs get{.key = key.data(),
                                    .key_size = key.size(),
                                    .timeout_in_ms = 600'000,
                                    .callback_error = &callback_fails,
                                    .user_arg = here.callbacks.kv_get_user_arg};
  if (here.callbacks.kv_get_callback(&get) != nullptr) Hang();
  std::string value(get.value, get.value_size);
  get.value_deleter_callback(get.value);
  return value;
}

// Reads a key that no process has put: one function fails at once, the other after its time limit.
void LookForNothing() {
  pjrt::KeyValueTryGetCallbackArgs look{.key = "nothing",
                                        .key_size = 7,
                                        .callback_error = &callback_fails,
                                        .user_arg = here.callbacks.kv_try_get_user_arg};
  pjrt::KeyValueGetCallbackArgs get{.key = "nothing",
                                    .key_size = 7,
                                    .timeout_in_ms = 10,
                                    .callback_error = &callback_fails,
                                    .user_arg = here.callbacks.kv_get_user_arg};
  const pjrt::Error* const not_found = here.callbacks.kv_try_get_callback(&look);
  const pjrt::Error* const too_late = here.callbacks.kv_get_callback(&get);
  const bool right = not_found != nullptr && not_found->code == pjrt::ErrorCode::kNotFound &&
                     too_late != nullptr && too_late->code == pjrt::ErrorCode::kDeadlineExceeded;
  if (!right) std::abort();
}

// ---- clients
// --------------------------------------------------------------------------------------------

// The first option that this plugin does not know.
std::string TakeOptions(const pjrt::ClientCreateArgs& create) {
  const std::string lacks = Variable("STAND_IN_LACKS");
  std::ostringstream notes;
  for (size_t i = 0; i < create.num_options; ++i) {
    const pjrt::NamedValue& option = create.create_options[i];
    std::string name(option.name, option.name_size);
    if (name == lacks) return name;
    notes << name;
    if (option.type == pjrt::NamedValueType::kBool) notes << " " << option.bool_value;
    if (option.type == pjrt::NamedValueType::kFloat) notes << " " << option.float_value;
    if (option.type == pjrt::NamedValueType::kInt64) notes << " " << option.int64_value;
    if (option.type == pjrt::NamedValueType::kInt64List) {
      for (size_t j = 0; j < option.value_size; ++j) notes << " " << option.int64_array_value[j];
      here.devices_of_each = option.value_size;
    }
    notes << "\n";
    if (name == "node_id") here.rank = option.int64_value;
    if (name == "num_nodes") here.size = option.int64_value;
  }
  Note("options", notes.str());
  return "";
}

pjrt::Error* ClientCreate(pjrt::ClientCreateArgs* args) {
  if (const std::string unknown = TakeOptions(*args); !unknown.empty()) {
    return Fails(pjrt::ErrorCode::kInvalidArgument, "Unexpected option name: " + unknown);
  }
  here.callbacks = *args;
  pjrt::NamedValue devices;
  devices.name = "cpu_device_count";
  devices.name_size = std::strlen(devices.name);
  devices.type = pjrt::NamedValueType::kInt64;
  devices.int64_value = here.size * static_cast<int64_t>(here.devices_of_each);
  devices.value_size = 1;
  pjrt::ClientCreateArgs create{.create_options = &devices, .num_options = 1};
  if (pjrt::Error* const error = Cpu().client_create(&create)) return error;
  args->client = here.client = create.client;
  pjrt::ClientAddressableDevicesArgs all{.client = here.client};
  Must(Cpu().client_addressable_devices(&all));
  here.devices.assign(all.addressable_devices,
                      all.addressable_devices + all.num_addressable_devices);
  // As GPU clients do, each tells the others that it exists.
  Put("there/" + std::to_string(here.rank), std::to_string(::getpid()));
  for (int64_t rank = 0; rank < here.size; ++rank) (void)Get("there/" + std::to_string(rank));
  LookForNothing();
  return nullptr;
}

pjrt::Error* AddressableDevices(pjrt::ClientAddressableDevicesArgs* args) {
  args->addressable_devices =
      here.devices.data() + static_cast<size_t>(here.rank) * here.devices_of_each;
  args->num_addressable_devices = here.devices_of_each;
  return nullptr;
}

// ---- programs of all processes
// -----------------------------------------------------------------------------

size_t DevicesOf(pjrt::LoadedExecutable* executable) {
  LoadedExecutableAddressableDevicesArgs devices{.executable = executable};
  Must(reinterpret_cast<pjrt::Error* (*)(LoadedExecutableAddressableDevicesArgs*)>(
      Cpu().loaded_executable_addressable_devices)(&devices));
  return devices.num_addressable_devices;
}

size_t ResultsOf(pjrt::LoadedExecutable* executable) {
  pjrt::LoadedExecutableGetExecutableArgs get{.loaded_executable = executable};
  Must(Cpu().loaded_executable_get_executable(&get));
  pjrt::ExecutableNumOutputsArgs count{.executable = get.executable};
  Must(Cpu().executable_num_outputs(&count));
  pjrt::ExecutableDestroyArgs destroy{.executable = get.executable};
  Must(Cpu().executable_destroy(&destroy));
  return count.num_outputs;
}

void Await(pjrt::Event* event) {
  if (event == nullptr) return;
  pjrt::EventAwaitArgs await{.event = event};
  Must(Cpu().event_await(&await));
  pjrt::EventDestroyArgs destroy{.event = event};
  Must(Cpu().event_destroy(&destroy));
}

void Destroy(pjrt::Buffer* buffer) {
  pjrt::BufferDestroyArgs destroy{.buffer = buffer};
  Must(Cpu().buffer_destroy(&destroy));
}

template <class T>
void Append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T TakeFrom(std::string_view& from) {
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

void AppendBuffer(pjrt::Buffer* buffer, std::string& to) {
  pjrt::BufferElementTypeArgs type{.buffer = buffer};
  Must(Cpu().buffer_element_type(&type));
  pjrt::BufferDimensionsArgs dims{.buffer = buffer};
  Must(Cpu().buffer_dimensions(&dims));
  Append(to, type.type);
  Append(to, dims.num_dims);
  for (size_t i = 0; i < dims.num_dims; ++i) Append(to, dims.dims[i]);
  pjrt::BufferToHostBufferArgs copy{.src = buffer};
  Must(Cpu().buffer_to_host_buffer(&copy));  // number of bytes
  std::string bytes(copy.dst_size, '\0');
  copy = {.src = buffer, .dst = bytes.data(), .dst_size = bytes.size()};
  Must(Cpu().buffer_to_host_buffer(&copy));
  Await(copy.event);
  Append(to, bytes.size());
  to += bytes;
}

pjrt::Buffer* TakeBuffer(std::string_view& from, pjrt::Device* device) {
  const auto type = TakeFrom<pjrt::BufferType>(from);
  std::vector<int64_t> dims(TakeFrom<size_t>(from));
  for (int64_t& dim : dims) dim = TakeFrom<int64_t>(from);
  const auto bytes = TakeFrom<size_t>(from);
  pjrt::ClientBufferFromHostBufferArgs make{
      .client = here.client,
      .data = from.data(),
      .type = type,
      .dims = dims.data(),
      .num_dims = dims.size(),
      .host_buffer_semantics = pjrt::HostBufferSemantics::kImmutableOnlyDuringCall,
      .device = device};
  Must(Cpu().client_buffer_from_host_buffer(&make));
  Await(make.done_with_host_buffer);
  from.remove_prefix(bytes);
  return make.buffer;
}

bool HangsNow() {
  std::istringstream text(Variable("STAND_IN_HANGS"));
  int64_t rank = -1;
  int64_t run = -1;
  text >> rank >> run;
  return rank == here.rank && run == here.runs;
}

pjrt::Error* Execute(pjrt::LoadedExecutableExecuteArgs* args) {
  const size_t own = args->num_devices;
  const size_t all = DevicesOf(args->executable);
  if (own == all) return Cpu().loaded_executable_execute(args);
  const std::string run = "run/" + std::to_string(++here.runs) + "/";
  if (HangsNow()) {
    Note("hangs", "");
    Hang();
  }
  std::string message;
  for (size_t d = 0; d < own; ++d) {
    for (size_t i = 0; i < args->num_args; ++i) AppendBuffer(args->argument_lists[d][i], message);
  }
  Put(run + std::to_string(here.rank), message);
  const size_t first = static_cast<size_t>(here.rank) * own;
  const size_t results = ResultsOf(args->executable);
  std::vector<std::vector<pjrt::Buffer*>> given(all);
  std::vector<std::vector<pjrt::Buffer*>> made(all, std::vector<pjrt::Buffer*>(results));
  std::vector<pjrt::Buffer* const*> argument_lists(all);
  std::vector<pjrt::Buffer**> output_lists(all);
  std::vector<pjrt::Event*> events(all, nullptr);
  std::string theirs;
  std::string_view rest;
  for (size_t d = 0; d < all; ++d) {
    const bool is_own = d >= first && d < first + own;
    argument_lists[d] = is_own ? args->argument_lists[d - first] : nullptr;
    output_lists[d] = is_own ? args->output_lists[d - first] : made[d].data();
    if (is_own) continue;
    if (d % own == 0) rest = theirs = Get(run + std::to_string(d / own));
    for (size_t i = 0; i < args->num_args; ++i) {
      given[d].push_back(TakeBuffer(rest, here.devices[d]));
    }
    argument_lists[d] = given[d].data();
  }
  pjrt::LoadedExecutableExecuteArgs execute = *args;
  execute.argument_lists = argument_lists.data();
  execute.num_devices = all;
  execute.output_lists = output_lists.data();
  execute.device_complete_events = events.data();
  Must(Cpu().loaded_executable_execute(&execute));
  for (size_t d = 0; d < all; ++d) {
    if (d >= first && d < first + own) {
      args->device_complete_events[d - first] = events[d];
      continue;
    }
    Await(events[d]);
    std::for_each(given[d].begin(), given[d].end(), Destroy);
    std::for_each(made[d].begin(), made[d].end(), Destroy);
  }
  return nullptr;
}

// Claims to be a GPU's platform.
pjrt::Error* PlatformName(pjrt::ClientPlatformNameArgs* args) {
  static constexpr std::string_view kName = "cuda";
  args->platform_name = kName.data();
  args->platform_name_size = kName.size();
  return nullptr;
}

pjrt::Error* Compile(pjrt::ClientCompileArgs* args) {
  constexpr std::string_view kFlag = "xla_gpu_deterministic_ops";
  const std::string_view options(args->compile_options, args->compile_options_size);
  if (options.find(kFlag) != std::string_view::npos) Note("flags", std::string(kFlag) + "\n");
  return Cpu().client_compile(args);
}

pjrt::Api MakeApi() {
  pjrt::Api api = Cpu();
  api.head = {};
  api.error_destroy = ErrorDestroy;
  api.error_message = ErrorMessage;
  api.error_get_code = ErrorGetCode;
  api.client_create = ClientCreate;
  api.client_platform_name = PlatformName;
  api.client_addressable_devices = AddressableDevices;
  api.client_compile = Compile;
  api.loaded_executable_execute = Execute;
  return api;
}

}  // namespace

extern "C" const tpuest::pjrt::Api* GetPjrtApi() {
  static const tpuest::pjrt::Api api = MakeApi();
  return &api;
}
