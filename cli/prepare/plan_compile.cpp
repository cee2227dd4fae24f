#include "cli/prepare/plan_compile.h"

#include <algorithm>

#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr size_t kPaddedShown = 8;

// Returns how the cores of a replica share a variable.
Partition PartitionOf(const LoweredModule& module, const std::string& variable) {
  const auto found = std::find(module.variables.begin(), module.variables.end(), variable);
  if (found == module.variables.end()) return {};
  return module.variable_partitions[static_cast<size_t>(found - module.variables.begin())];
}

std::vector<PaddedTensor> Padded(PjrtTopology& topology, const LoweredModule& module,
                                 const Graph& graph) {
  std::vector<PaddedTensor> padded;
  for (const auto& variable : graph.variables()) {
    const Shape shape = FirstPartShape(variable->shape, PartitionOf(module, variable->name));
    const int64_t bytes = shape.elements() * static_cast<int64_t>(SizeOf(variable->dtype));
    const int64_t taken = topology.ArgumentBytes(variable->dtype, shape);
    if (taken > bytes) padded.push_back({variable->name, shape, bytes, taken});
  }
  std::stable_sort(padded.begin(), padded.end(), [](const PaddedTensor& a, const PaddedTensor& b) {
    return a.padded - a.bytes > b.padded - b.bytes;
  });
  return padded;
}

void TellSpread(PjrtTopology& topology, const LoweredModule& module, const Graph& graph,
                CompileReport& report) {
  for (const auto& variable : graph.variables()) {
    const Partition partition = PartitionOf(module, variable->name);
    if (partition.empty()) continue;
    ++report.spread;
    report.spread_bytes +=
        variable->shape.elements() * static_cast<int64_t>(SizeOf(variable->dtype));
    report.spread_on_core +=
        topology.ArgumentBytes(variable->dtype, FirstPartShape(variable->shape, partition));
  }
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::string MemoryText(const CompileReport& report) {
  const CompiledSize& size = report.size;
  std::vector<std::vector<std::string>> rows = {
      {"code", BytesText(size.code)},
      {"arguments", BytesText(size.arguments)},
      {"outputs", fmt::format("{}, {} of them reuse arguments", BytesText(size.outputs),
                              BytesText(size.aliased))},
      {"temporary", BytesText(size.temporaries)},
  };
  if (size.peak > 0) rows.push_back({"peak", BytesText(size.peak)});
  if (size.flops) {
    rows.push_back({"FLOPs", CountText(*size.flops) + " per step, counted by the compiler"});
  }
  if (size.bytes_accessed) {
    rows.push_back({"traffic", BytesText(static_cast<int64_t>(*size.bytes_accessed)) +
                                   " read and written per step, counted by the compiler"});
  }
  return TableText({false, false}, rows);
}

std::string PaddedText(const CompileReport& report) {
  if (report.padded.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"padded variable", "shape", "bytes", "on a core"}};
  for (const PaddedTensor& tensor : report.padded) {
    if (rows.size() > kPaddedShown) break;
    rows.push_back(
        {tensor.name, tensor.shape.Text(), BytesText(tensor.bytes), BytesText(tensor.padded)});
  }
  return "\n" + TableText({false, false, true, true}, rows) +
         fmt::format("padding of all variables: {}\n", BytesText(report.wasted));
}

}  // namespace

CompileReport CompileFor(PjrtTopology& topology, const LoweredModule& module,
                         const PlannedRun& run) {
  CompileReport report{.topology = topology.info(),
                       .replicas = run.replicas,
                       .cores = run.cores,
                       .stack = module.stack};
  report.size = topology.Compile(module.text, run.replicas, run.cores);
  report.padded = Padded(topology, module, *run.model->graph);
  TellSpread(topology, module, *run.model->graph, report);
  for (const PaddedTensor& tensor : report.padded) report.wasted += tensor.padded - tensor.bytes;
  return report;
}

Json JsonOfCompile(const CompileReport& report) {
  const CompiledSize& size = report.size;
  Json json = {{"topology", report.topology.name},
               {"kind", report.topology.kind},
               {"compiler", report.topology.version},
               {"cores", report.topology.cores},
               {"steps_per_call", report.stack}};
  const auto bytes = [&](const char* key, int64_t value) {
    json[key] = report.fits() ? Json(value) : Json();
  };
  bytes("code_bytes", size.code);
  bytes("argument_bytes", size.arguments);
  bytes("output_bytes", size.outputs);
  bytes("alias_bytes", size.aliased);
  bytes("temp_bytes", size.temporaries);
  json["hbm_bytes"] = report.hbm();
  json["fits"] = report.fits();
  json["flops"] = OrNull(size.flops);
  json["bytes_accessed"] = OrNull(size.bytes_accessed);
  json["padding_bytes"] = report.wasted;
  if (report.spread > 0) {
    json["tables"] = {{"variables", report.spread},
                      {"bytes", report.spread_bytes},
                      {"core_bytes", report.spread_on_core}};
  }
  if (!report.fits()) {
    json["needed_bytes"] = size.shortage->needed;
    json["largest"] = Json::array();
    for (const LargeTensor& tensor : size.shortage->largest) {
      json["largest"].push_back({{"name", tensor.of.node},
                                 {"shape", tensor.shape},
                                 {"bytes", tensor.bytes},
                                 {"file", tensor.of.place.file},
                                 {"line", tensor.of.place.line}});
    }
  }
  return json;
}

std::string CompileText(const CompileReport& report) {
  const TopologyInfo& topology = report.topology;
  std::string text = fmt::format(
      "\n{}: {} cores of {}, {} of memory each{}; steps of a call: {}\n", topology.name,
      topology.cores, topology.kind, BytesText(topology.memory),
      topology.limit > 0 ? fmt::format(" ({} for programs)", BytesText(topology.limit)) : "",
      report.stack);
  if (report.fits()) text += MemoryText(report);
  if (report.spread > 0) {
    text += fmt::format(
        "tables and slots, by row over the {}: {} in {} variables, {} of them on a core\n",
        report.cores == 1 ? "replicas" : "cores of a replica", BytesText(report.spread_bytes),
        report.spread, BytesText(report.spread_on_core));
  }
  return text + PaddedText(report);
}

}  // namespace tpuest::cli
