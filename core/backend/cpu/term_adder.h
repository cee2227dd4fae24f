#pragma once
// The sums of a program's phases.

#include <optional>

#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/shared_sums.h"
#include "core/backend/cpu/step_memory.h"
#include "core/backend/threads.h"

namespace tpuest {

// Adds the terms of this process; in a group, SharedSums adds the other processes' terms.
class TermAdder {
 public:
  // All outlive it.
  TermAdder(const CompiledProgram& program, const StepMemory& memory, ThreadTeam& team);

  // The partial sums that leave while a kBlock phase runs; nullptr if none do.
  [[nodiscard]] SharedSums* OfferedIn(size_t phase) {
    return shared_ && shared_->OffersIn(phase) ? &*shared_ : nullptr;
  }
  // Adds the terms of a phase's sums that are here, in parallel over ranges of elements that do not
  // depend on the number of threads.
  void Add(size_t phase);
  // Waits for the other processes' terms; then the sums over replicas have their values.
  void Finish(size_t phase) {
    if (shared_) shared_->Finish(phase);
  }

 private:
  void AddRange(const SumJob& sum, int replica, int64_t begin, int64_t end) const;

  const CompiledProgram& program_;
  const StepMemory& memory_;
  ThreadTeam& team_;
  const SumTerms terms_;
  std::optional<SharedSums> shared_;  // of sums with other processes
};

}  // namespace tpuest
