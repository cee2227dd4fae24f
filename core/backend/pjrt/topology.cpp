#include "core/backend/pjrt/topology.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/backend/hlo/builder.h"
#include "core/backend/pjrt/api.h"
#include "core/backend/pjrt/log.h"
#include "core/backend/pjrt/tpu_memory.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest {
namespace {

// More chips than any TPU has, and few enough to describe.
constexpr int64_t kMostChips = int64_t{1} << 16;

// libtpu searches for TPU hardware when it is loaded; these variables prevent that. Variables that
// the user has set stay unchanged.
void SetTopologyVariables() {
  struct Variable {
    const char* name;
    const char* value;
  };
  constexpr Variable kVariables[] = {
      {"TPU_SKIP_MDS_QUERY", "1"},
      {"TPU_ACCELERATOR_TYPE", "v5litepod-4"},  // arbitrary; the topology's name decides
      {"TPU_WORKER_HOSTNAMES", "localhost"},
      {"TPU_LOG_DIR", "disabled"},
      // Another job may train on this machine's TPU meanwhile.
      {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
  };
  for (const Variable& variable : kVariables) {
    ::setenv(variable.name, variable.value, /*overwrite=*/0);
  }
}

Error NoTopology(const std::string& name, const std::string& why) {
  return {
      Code::kUsage, fmt::format("unknown topology '{}': {}", name, why),
      "give a TPU and its chips in each direction, such as v5e:2x2, v2:2x2x1, v4:2x2x1, v6e:2x4"};
}

// Refuses names that would crash the plugin, which divides by the numbers in the name and creates
// as many devices as the name says. The plugin itself checks the rest.
void CheckName(const std::string& name) {
  const size_t colon = name.find_first_of(":=");
  if (colon == 0 || colon == std::string::npos) throw NoTopology(name, "the name gives no chips");
  int64_t chips = 1;
  const std::string sizes = name.substr(colon + 1);
  for (const std::string& part : Split(sizes.substr(0, sizes.find('_')), 'x')) {
    const std::optional<int64_t> size = WholeNumber<int64_t>(part);
    if (!size || *size < 1) {
      throw NoTopology(name, fmt::format("'{}' is not a number of chips", part));
    }
    chips = *size > kMostChips ? kMostChips + 1 : chips * *size;
    if (chips > kMostChips) throw NoTopology(name, "no TPU has that many chips");
  }
}

// The value of this name in a plugin's list, or nullptr. The plugin owns the values, which live as
// long as the described object.
const pjrt::NamedValue* Find(const pjrt::NamedValue* values, size_t count, std::string_view name) {
  for (size_t i = 0; i < count; ++i) {
    if (std::string_view(values[i].name, values[i].name_size) == name) return &values[i];
  }
  return nullptr;
}

struct TopologyDeleter {
  const PjrtApi* api;
  void operator()(pjrt::TopologyDescription* topology) const {
    pjrt::TopologyDescriptionDestroyArgs destroy{.topology = topology};
    (*api)->topology_description_destroy(&destroy);
  }
};

struct ExecutableDeleter {
  const PjrtApi* api;
  void operator()(pjrt::Executable* executable) const {
    pjrt::ExecutableDestroyArgs destroy{.executable = executable};
    (*api)->executable_destroy(&destroy);
  }
};

constexpr PjrtFunction kTopologyFunctions[] = {
    {offsetof(pjrt::Api, topology_description_create), "PJRT_TopologyDescription_Create"},
    {offsetof(pjrt::Api, topology_description_destroy), "PJRT_TopologyDescription_Destroy"},
    {offsetof(pjrt::Api, topology_description_platform_name),
     "PJRT_TopologyDescription_PlatformName"},
    {offsetof(pjrt::Api, topology_description_platform_version),
     "PJRT_TopologyDescription_PlatformVersion"},
    {offsetof(pjrt::Api, topology_description_get_device_descriptions),
     "PJRT_TopologyDescription_GetDeviceDescriptions"},
    {offsetof(pjrt::Api, topology_description_attributes), "PJRT_TopologyDescription_Attributes"},
    {offsetof(pjrt::Api, device_description_kind), "PJRT_DeviceDescription_Kind"},
    {offsetof(pjrt::Api, compile), "PJRT_Compile"},
    {offsetof(pjrt::Api, executable_destroy), "PJRT_Executable_Destroy"},
    {offsetof(pjrt::Api, executable_get_cost_analysis), "PJRT_Executable_GetCostAnalysis"},
    {offsetof(pjrt::Api, executable_get_compiled_memory_stats),
     "PJRT_Executable_GetCompiledMemoryStats"},
};

// A topology and its plugin. The plugin is destroyed last, because it releases topology_.
class Topology final : public PjrtTopology {
 public:
  Topology(const std::string& path, const std::string& name, PjrtLogging logging)
      : api_(path, logging), topology_(nullptr, {&api_}) {
    api_.NeedFunctions(kTopologyFunctions);
    info_.name = name;
    Create();
    Describe();
  }
  [[nodiscard]] const TopologyInfo& info() const override { return info_; }
  CompiledSize Compile(const std::string& module, int replicas, int partitions) override;
  int64_t ArgumentBytes(DType dtype, const Shape& shape) override {
    HloBuilder hlo;
    return Compile(hlo.Finish({hlo.Argument(dtype, shape)}), 1, 1).arguments;
  }

 private:
  void Create();
  void Describe();
  // The compiler's own figures; the program does not run.
  [[nodiscard]] CompiledSize SizeOf(pjrt::Executable* executable) const;

  PjrtApi api_;
  std::unique_ptr<pjrt::TopologyDescription, TopologyDeleter> topology_;
  TopologyInfo info_;
};

void Topology::Create() {
  // By default v4's two cores share their memory and run as one device; newer generations need no
  // option.
  constexpr std::string_view kOption = "chip_config_name";
  constexpr std::string_view kOneDevice = "megacore";
  pjrt::NamedValue option;
  option.name = kOption.data();
  option.name_size = kOption.size();
  option.type = pjrt::NamedValueType::kString;
  option.string_value = kOneDevice.data();
  option.value_size = kOneDevice.size();
  const std::string& name = info_.name;
  const bool joined = StartsWith(name, "v4:") || StartsWith(name, "V4:");
  pjrt::TopologyDescriptionCreateArgs create{
      .topology_name = name.data(),
      .topology_name_size = name.size(),
      .create_options = &option,
      .num_options = joined ? size_t{1} : 0,
  };
  const PjrtSilence silence(api_.logging());
  if (const auto failure = api_.Take(api_->topology_description_create(&create))) {
    throw NoTopology(name, fmt::format("{}: {}", api_.path(), failure->text));
  }
  topology_.reset(create.topology);
}

// An attribute or device that the plugin does not report leaves its field 0 or empty.
void Topology::Describe() {
  constexpr std::string_view kWhat = "describing a topology";
  pjrt::TopologyDescriptionGetDeviceDescriptionsArgs devices{.topology = topology_.get()};
  api_.Need(api_->topology_description_get_device_descriptions(&devices), kWhat);
  info_.cores = static_cast<int>(devices.num_descriptions);
  if (info_.cores > 0) {
    pjrt::DeviceDescriptionKindArgs kind{.device_description = devices.descriptions[0]};
    api_.Need(api_->device_description_kind(&kind), kWhat);
    info_.kind.assign(kind.device_kind, kind.device_kind_size);
  }
  pjrt::TopologyDescriptionPlatformNameArgs platform{.topology = topology_.get()};
  api_.Need(api_->topology_description_platform_name(&platform), kWhat);
  info_.platform.assign(platform.platform_name, platform.platform_name_size);
  pjrt::TopologyDescriptionPlatformVersionArgs version{.topology = topology_.get()};
  api_.Need(api_->topology_description_platform_version(&version), kWhat);
  info_.version.assign(version.platform_version, version.platform_version_size);
  pjrt::TopologyDescriptionAttributesArgs attributes{.topology = topology_.get()};
  api_.Need(api_->topology_description_attributes(&attributes), kWhat);
  const pjrt::NamedValue* const limit =
      Find(attributes.attributes, attributes.num_attributes, "device_memory_bytes_limit");
  if (limit != nullptr && limit->type == pjrt::NamedValueType::kInt64) {
    info_.limit = limit->int64_value;
  }
  info_.memory = TpuMemoryBytes(info_.name);
}

CompiledSize Topology::SizeOf(pjrt::Executable* executable) const {
  pjrt::ExecutableGetCompiledMemoryStatsArgs memory{.executable = executable};
  api_.Need(api_->executable_get_compiled_memory_stats(&memory), "reading a program's size");
  CompiledSize size;
  size.code = memory.generated_code_size_in_bytes;
  size.arguments = memory.argument_size_in_bytes;
  size.outputs = memory.output_size_in_bytes;
  size.aliased = memory.alias_size_in_bytes;
  size.temporaries = memory.temp_size_in_bytes;
  size.peak = memory.peak_memory_in_bytes;
  pjrt::ExecutableGetCostAnalysisArgs cost{.executable = executable};
  // Some plugins lack a cost analysis.
  if (api_.Take(api_->executable_get_cost_analysis(&cost))) return size;
  const auto property = [&](std::string_view name) -> std::optional<double> {
    const pjrt::NamedValue* const value = Find(cost.properties, cost.num_properties, name);
    if (value == nullptr || value->type != pjrt::NamedValueType::kFloat) return std::nullopt;
    return value->float_value;
  };
  size.flops = property("flops");
  size.bytes_accessed = property("bytes accessed");
  return size;
}

// A program that does not fit is a result, not an Error: the caller asked for the missing memory
// and its largest users.
CompiledSize Topology::Compile(const std::string& module, int replicas, int partitions) {
  CheckReplicas(replicas, partitions, info_.cores, info_.name, "cores");
  std::string code = module;
  pjrt::Program program = PjrtProgramOf(code);
  const std::string options = PjrtCompileOptions(replicas, partitions);
  pjrt::CompileArgs compile{
      .topology = topology_.get(),
      .program = &program,
      .compile_options = options.data(),
      .compile_options_size = options.size(),
  };
  std::optional<PjrtFailure> failure;
  {
    const PjrtSilence silence(api_.logging());
    failure = api_.Take(api_->compile(&compile));
  }
  if (failure) {
    CompiledSize none;
    none.shortage = FindShortage(failure->text, module);
    if (!none.shortage) api_.ThrowCompileError(*failure, module);
    return none;
  }
  const std::unique_ptr<pjrt::Executable, ExecutableDeleter> executable(compile.executable,
                                                                        {&api_});
  return SizeOf(executable.get());
}

}  // namespace

std::unique_ptr<PjrtTopology> OpenTopology(const std::string& path, const std::string& name,
                                           PjrtLogging logging) {
  CheckName(name);
  SetTopologyVariables();
  return std::make_unique<Topology>(path, name, logging);
}

}  // namespace tpuest
