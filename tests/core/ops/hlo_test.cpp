// Lowers every row's graph to StableHLO, runs it on XLA's CPU plugin, and compares it with the CPU
// engine.

#include <doctest/doctest.h>

#include "core/backend/hlo/lower.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"
#include "tests/core/ops/pjrt_run.h"
#include "tests/cpu_plugin.h"

namespace tpuest {
namespace {

// The rows that run on a device: nothing in them stays on the host.
bool RunsOnDevice(const CaseGraph& graph) {
  for (const auto& node : graph.graph.nodes()) {
    if (node->op().host) return false;
    for (int i = 0; i < node->outputs(); ++i) {
      if (node->output_dtype(i) == DType::kString) return false;
    }
  }
  return true;
}

CaseRun RunOnPlugin(PjrtClient& client, const OpCase& op_case, const std::vector<Tensor>& inputs) {
  CaseGraph graph(op_case, inputs);
  ProgramSpec spec{
      .graph = &graph.graph, .fetches = graph.built.results, .targets = graph.built.targets};
  for (size_t i = 0; i < inputs.size(); ++i) {
    spec.feeds.push_back({graph.inputs[i], inputs[i].shape(), false});
  }
  const LoweredModule module = LowerToHlo(spec, {.seed = RunHow().seed});
  INFO(module.text);
  std::vector<Tensor> arguments;
  for (const size_t feed : module.feeds) arguments.push_back(inputs[feed]);
  for (const std::string& name : module.variables) {
    arguments.push_back(op_case.variables.at(name));
  }
  const auto results = RunOnHost(client, *client.Compile(module.text, {}), {arguments})[0];
  const auto fetches = static_cast<ptrdiff_t>(spec.fetches.size());
  CaseRun run{.results = {results.begin(), results.begin() + fetches}};
  for (size_t i = 0; i < module.variables.size(); ++i) {
    run.variables[module.variables[i]] = results[spec.fetches.size() + i];
  }
  return run;
}

TEST_CASE("every op that lowers computes on XLA's CPU plugin what the CPU engine does") {
  const auto client = LoadPjrtPlugin(CpuPlugin(), 1);
  for (const OpCase& op_case : AllOpCases()) {
    const OpDef& def = *TestRegistry().Find(op_case.op)->def;
    if (def.hlo == nullptr && def.expand == nullptr && def.bind == nullptr) continue;
    const CaseGraph graph(op_case, op_case.inputs);
    if (!RunsOnDevice(graph)) continue;
    INFO(NameOf(op_case));
    try {
      const CaseRun expected = RunCase(op_case, op_case.inputs);
      const CaseRun found = RunOnPlugin(*client, op_case, op_case.inputs);
      for (size_t i = 0; i < expected.results.size(); ++i) {
        INFO("result ", i);
        CheckClose(found.results[i], expected.results[i], 1e-5);
      }
      for (const auto& variable : expected.variables) {
        INFO("variable ", variable.first);
        const auto same = found.variables.find(variable.first);
        if (same != found.variables.end()) CheckClose(same->second, variable.second, 1e-5);
      }
    } catch (const Error& error) {
      FAIL_CHECK(error.message());
    }
  }
}

}  // namespace
}  // namespace tpuest
