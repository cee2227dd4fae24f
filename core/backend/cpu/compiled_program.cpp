#include "core/backend/cpu/compiled_program.h"

#include <algorithm>
#include <utility>

#include "core/backend/cpu/fusion.h"
#include "core/backend/cpu/program_variables.h"

namespace tpuest {
namespace {

BoundGraph BoundAndFused(const ProgramSpec& spec, const CompileOptions& options) {
  BoundGraph bound = BindGraph(spec);
  if (options.fuse) return Fused(std::move(bound));
  return bound;
}

Schedule ScheduleFor(const ProgramSpec& spec, const CompileOptions& options,
                     const BoundGraph& bound, VariableStore& store) {
  ScheduleOptions schedule_options{options.replicas, options.cut_rows, {}};
  for (const FeedSpec& feed : spec.feeds) schedule_options.cut_feeds.push_back(feed.cut);
  const ProgramVariables variables(store);
  for (const auto& node : bound.graph->nodes()) {
    schedule_options.asks.push_back(variables.AsksForRows(*node));
    schedule_options.may_ask.push_back(variables.MayAskForRows(*node));
    // A step without a guard rolls nothing back.
    schedule_options.row_updates.push_back(spec.guard.valid() && variables.UpdatesRows(*node));
  }
  return ScheduleGraph(bound, schedule_options);
}

}  // namespace

CompiledProgram::CompiledProgram(const ProgramSpec& spec, const CompileOptions& compile_options,
                                 VariableStore& variables)
    : options(compile_options),
      here(options.collective == nullptr ? ReplicaRange{0, options.replicas}
                                         : options.collective->share()),
      bound(BoundAndFused(spec, options)),
      schedule(ScheduleFor(spec, options, bound, variables)),
      plan(PlanProgram(bound, schedule, options, variables)) {}

bool CompiledProgram::WritesVariables() const {
  return std::any_of(plan.phases.begin(), plan.phases.end(), IsOfUpdates);
}

}  // namespace tpuest
