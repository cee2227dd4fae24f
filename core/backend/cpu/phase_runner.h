#pragma once
// The kernels of a program's phases.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/exchange/row_fetch.h"
#include "core/backend/cpu/step_memory.h"
#include "core/backend/cpu/term_adder.h"
#include "core/backend/plan.h"
#include "core/backend/stages.h"
#include "core/backend/threads.h"

namespace tpuest {

// Runs them on a team of threads.
class PhaseRunner {
 public:
  // All outlive it.
  PhaseRunner(const CompiledProgram& program, StepMemory& memory, TermAdder& adder,
              RowFetches& fetches, ThreadTeam& team);

  // Sets what the tasks of the step that runs now see: its number, and the strings that host ops
  // append to.
  void BeginStep(uint64_t step, std::deque<std::string>& strings) {
    step_ = step;
    strings_ = &strings;
  }
  void Run(size_t phase);

 private:
  void RunBlocks(size_t index);
  void RunBlock(size_t index, int replica, int block, int thread);
  void RunStages(size_t phase);
  void RunReplicaStages(size_t phase);
  void RunReplicas(const std::vector<Kernel>& kernels);
  [[nodiscard]] Task MakeTask(int thread, int replica, int block);

  const CompiledProgram& program_;
  StepMemory& memory_;
  TermAdder& adder_;
  RowFetches& fetches_;
  ThreadTeam& team_;
  std::vector<std::vector<Stage>> stages_;  // by phase; they point into the plan
  uint64_t step_ = 0;
  std::deque<std::string>* strings_ = nullptr;
};

}  // namespace tpuest
