#pragma once
// A program after its compilation: the graph bound, fused, scheduled and planned.

#include "core/backend/backend.h"
#include "core/backend/bind.h"
#include "core/backend/collective.h"
#include "core/backend/cpu/planner.h"
#include "core/backend/schedule.h"

namespace tpuest {

// Owns what the steps of a program read and never change. It stays at its address: kernels point
// into it.
struct CompiledProgram {
  // Adds variables that the store does not have yet (PlanProgram). Errors: BindGraph,
  // ScheduleGraph, PlanProgram.
  CompiledProgram(const ProgramSpec& spec, const CompileOptions& compile_options,
                  VariableStore& variables);
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  // True if all replicas have the same value.
  [[nodiscard]] bool IsShared(const Value& value) const {
    return schedule.nodes[static_cast<size_t>(value.node->id())].result_level >= Level::kGlobal;
  }

  // Whether a phase of the plan writes variables.
  [[nodiscard]] bool WritesVariables() const;

  const CompileOptions options;
  const ReplicaRange here;  // all replicas, or this process's share of them
  const BoundGraph bound;
  const Schedule schedule;
  const CpuPlan plan;
};

}  // namespace tpuest
