#pragma once
// Lists what the updates of a program write and read. The update gate (update_gate.h) checks it
// before they run.

#include "core/backend/bind.h"
#include "core/backend/cpu/buffers.h"
#include "core/backend/cpu/planner.h"
#include "core/backend/cpu/program_variables.h"
#include "core/backend/schedule.h"

namespace tpuest {

struct UpdatePlanning {
  const BoundGraph& bound;
  const Schedule& schedule;
  const ProgramVariables& variables;
  Buffers& buffers;
  CpuPlan& plan;
};

// Sets the plan's tables, written, centered and update_inputs, and whether updates_are_bounded.
void PlanUpdates(const UpdatePlanning& of);

}  // namespace tpuest
