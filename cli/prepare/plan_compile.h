#pragma once
// `tpuest plan --compile TOPOLOGY` compiles a job's training step for devices that this machine
// does not have.

#include <string>
#include <vector>

#include "cli/shell/report.h"
#include "core/backend/hlo/backend.h"
#include "core/backend/pjrt/topology.h"
#include "core/estimator/planned_run.h"

namespace tpuest::cli {

// A variable that takes more memory than its numbers need.
struct PaddedTensor {
  std::string name;
  Shape shape;
  int64_t bytes = 0;
  int64_t padded = 0;  // bytes per core, with padding
};

struct CompileReport {
  TopologyInfo topology;
  int replicas = 1;
  int cores = 1;      // of a replica
  int64_t stack = 1;  // steps of one call
  CompiledSize size;
  std::vector<PaddedTensor> padded;  // most wasted bytes first
  int64_t wasted = 0;                // bytes of padding of all variables
  // Number of tables and slots whose rows the cores of a replica, or the replicas, share.
  int spread = 0;
  int64_t spread_bytes = 0;  // whole
  int64_t spread_on_core = 0;

  // The bytes that programs may have on a core; 0: not known.
  [[nodiscard]] int64_t hbm() const {
    return topology.limit > 0 ? topology.limit : topology.memory;
  }
  [[nodiscard]] bool fits() const { return !size.shortage; }
};

// Compiles the run's module and weighs its variables. A step that does not fit is no error: see
// fits(). Error kUsage with the plugin's words, at the line of the job that made the node they
// name.
[[nodiscard]] CompileReport CompileFor(PjrtTopology& topology, const LoweredModule& module,
                                       const PlannedRun& run);

// The field "compile" of the document "tpuest.plan/1".
[[nodiscard]] Json JsonOfCompile(const CompileReport& report);
// Tables for a person: the devices, the memory of the step, the variables that are padded most.
[[nodiscard]] std::string CompileText(const CompileReport& report);

}  // namespace tpuest::cli
