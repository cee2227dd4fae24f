#include "core/backend/cpu/phase_runner.h"

#include <algorithm>

namespace tpuest {
namespace {

void RunKernels(const std::vector<Kernel>& kernels, const Task& task) {
  for (const Kernel& kernel : kernels) kernel(task);
}

void RunTasks(const Stage& stage, const Task& task) {
  for (const WorkParts& parts : stage.tasks) {
    for (const WorkPart& part : parts) part.Run(task);
  }
}

}  // namespace

PhaseRunner::PhaseRunner(const CompiledProgram& program, StepMemory& memory, TermAdder& adder,
                         RowFetches& fetches, ThreadTeam& team)
    : program_(program), memory_(memory), adder_(adder), fetches_(fetches), team_(team) {
  for (const PhasePlan& phase : program.plan.phases) {
    stages_.push_back(phase.work.Stages(program.options.threads));
  }
}

void PhaseRunner::Run(size_t phase) {
  switch (program_.plan.phases[phase].level) {
    case Level::kBlock:
      return RunBlocks(phase);
    case Level::kReplica:
      return RunReplicaStages(phase);
    default:
      return RunStages(phase);
  }
}

// A task is one block of one replica, on whichever thread takes it: all it writes is its block's,
// its thread's, or its part. ForEach returns when all are done, which is the only barrier.
void PhaseRunner::RunBlocks(size_t index) {
  const int blocks = static_cast<int>(program_.schedule.blocks);
  if (SharedSums* const offered = adder_.OfferedIn(index)) offered->BeginOffers();
  team_.ForEach(program_.here.count * blocks, [&](int i, int thread) {
    RunBlock(index, i / blocks, i % blocks, thread);
    fetches_.AnswerIfAsked();
  });
  adder_.Add(index);
  const std::vector<Kernel>& after_sums = program_.plan.phases[index].after_sums;
  if (!after_sums.empty()) RunReplicas(after_sums);
}

// Run by run: as many rows as a phase takes at a time, and at the end what is left.
void PhaseRunner::RunBlock(size_t index, int replica, int block, int thread) {
  const PhasePlan& phase = program_.plan.phases[index];
  const int64_t run_rows = program_.schedule.phases[index].run_rows;
  Task task = MakeTask(thread, replica, block);
  const size_t end = task.row_begin + task.rows;
  for (; task.row_begin < end; task.row_begin += task.rows) {
    task.rows = std::min(static_cast<size_t>(run_rows), end - task.row_begin);
    const auto& variants = phase.variant_rows;
    const auto variant = static_cast<size_t>(
        std::find(variants.begin(), variants.end(), static_cast<int64_t>(task.rows)) -
        variants.begin());
    const bool is_last = task.row_begin + task.rows >= end;
    SharedSums* const offered = is_last ? adder_.OfferedIn(index) : nullptr;
    if (offered != nullptr) {
      offered->RunAndOffer(variant, task);
    } else {
      RunKernels(phase.kernels[variant], task);
    }
  }
}

// Runs what all replicas share, or the only one has: on all threads where that pays.
void PhaseRunner::RunStages(size_t phase) {
  for (const Stage& stage : stages_[phase]) {
    if (!stage.shared) {
      RunTasks(stage, MakeTask(0, 0, 0));
      continue;
    }
    team_.ForEach(static_cast<int>(stage.tasks.size()), [&](int i, int thread) {
      const Task task = MakeTask(thread, 0, 0);
      for (const WorkPart& part : stage.tasks[static_cast<size_t>(i)]) part.Run(task);
    });
  }
}

void PhaseRunner::RunReplicaStages(size_t phase) {
  if (program_.here.count == 1) return RunStages(phase);
  team_.ForEach(program_.here.count, [&](int replica, int thread) {
    const Task task = MakeTask(thread, replica, 0);
    for (const Stage& stage : stages_[phase]) RunTasks(stage, task);
  });
}

void PhaseRunner::RunReplicas(const std::vector<Kernel>& kernels) {
  team_.ForEach(program_.here.count, [&](int replica, int thread) {
    RunKernels(kernels, MakeTask(thread, replica, 0));
  });
}

Task PhaseRunner::MakeTask(int thread, int replica, int block) {
  const CompileOptions& options = program_.options;
  const Schedule& schedule = program_.schedule;
  Task task;
  task.locations = program_.plan.locations.data();
  task.bases = memory_.BasesFor(thread, replica, block);
  task.thread = thread;
  task.replica = program_.here.first + replica;
  task.replicas = options.replicas;
  task.row_begin = static_cast<size_t>(block * schedule.block_rows);
  task.rows = static_cast<size_t>(schedule.RowsOf(block));
  task.batch_rows = static_cast<size_t>(schedule.batch_rows);
  task.step = step_;
  task.seed = options.seed;
  task.seeds_by_name = options.seeds_by_name;
  task.strings = strings_;
  return task;
}

}  // namespace tpuest
