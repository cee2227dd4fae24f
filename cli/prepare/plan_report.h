#pragma once
// The findings of `tpuest plan` about a job, as JSON and as text.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/step_counts.h"
#include "cli/prepare/plan_layers.h"
#include "cli/shell/report.h"
#include "core/backend/rows/row_counts.h"
#include "core/estimator/planned_run.h"
#include "core/hosts/launch.h"
#include "core/hosts/shares.h"

namespace tpuest::cli {

// An input that the cores of a replica share.
struct SharedInput {
  std::string name;
  Shape shape;  // on a replica, the batch first
  Partition dims;
  std::vector<Shape> pieces;  // by core
};

struct PlanReport {
  std::string job;  // the job's file and its name
  std::optional<std::string> model_dir;
  std::string checkpoint;  // checkpoint that the run resumes from; empty for a new run
  int64_t start = 0;       // global step
  std::optional<int64_t> goal;
  std::string goal_reason;         // "max_steps", "steps" or "end of input"
  std::vector<EpochCount> counts;  // counts that the job gives in epochs
  std::optional<int64_t> steps;
  std::optional<int64_t> epoch_size;  // examples
  int64_t batch_size = 1;             // examples in a step of all replicas together
  int64_t batch_per_replica = 1;      // the whole batch if every replica takes it
  int replicas = 1;
  int cores = 1;  // of a replica
  std::vector<SharedInput> shared;
  std::optional<int64_t> core_bytes;  // bytes of a replica's inputs and layers per core, if known
  // absent with use_tpu: false, which polls after each step
  std::optional<IterationsPerLoop> iterations_per_loop;
  ModelCost model;
  std::optional<int64_t> most_of_tables;  // tpuest.embeddings.max_resident_bytes
  std::optional<RowRules> row_rules;      // nullopt: rows are not counted
  std::string kernels;                    // the CPU engine's (KernelsText); empty for a topology
  std::optional<int64_t> cpu_bytes;       // bytes of a step on the CPU engine, beside the variables
  std::optional<int64_t> keeping_bytes;   // the same without tpuest.remat; absent if there is none
  std::optional<std::string> warm_start_from;  // checkpoint whose variables the run starts with
  std::vector<WarmStartRow> warm_start;
  hosts::ProcessPlace process;        // this process's place in a launcher's group
  std::optional<ReplicaRange> share;  // this process's replicas in a group
  bool reads_all = false;             // each process decompresses the whole input

  [[nodiscard]] std::optional<double> epochs() const;
};

// The fields of the document "tpuest.plan/1"; sizes are in bytes.
[[nodiscard]] Json JsonOfPlan(const PlanReport& report);
// The text for a person: lines of key and value, then tables.
[[nodiscard]] std::string PlanText(const PlanReport& report);

}  // namespace tpuest::cli
