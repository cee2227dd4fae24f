#pragma once
// Decides which updates of a step run: a step whose guard or variables are not finite changes
// nothing.
//
//   state      what is known                before row     before other   at the end
//                                           updates        updates
//   kForward   nothing yet                  ask guard      ask guard      ask guard
//   kRows      the guard holds              run            pass gate      pass gate
//   kDoubt     the guard fails here, and    do not run     pass gate      pass gate
//              not all processes know it
//   kUpdates   guard and tables are finite  run            run            check variables
//   kRefused   the step is not applied      skip phase     skip phase     nothing
//
// "ask guard" leads to kRows, or to kRefused if the guard fails in any process. If the gate asks
// the other processes, only this process's guard counts, and leads to kRows or kDoubt. "pass gate"
// leads to kUpdates, or to kRefused if the guard fails in any process or a table is not finite;
// then the tables are rolled back (update_gate.h). "check variables" leads to kRefused if one is
// not finite; then all are rolled back.
//
// A step without a guard begins in kUpdates. In kDoubt phases of updates are still prepared: every
// process takes part in each exchange until all know that the step is not applied.

#include <optional>
#include <string>

#include "core/backend/backend.h"
#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/step_memory.h"
#include "core/backend/cpu/update_gate.h"
#include "core/backend/threads.h"

namespace tpuest {

// The state of a program's step.
class StepGuard {
 public:
  // All outlive it.
  StepGuard(const CompiledProgram& program, const StepMemory& memory,
            const VariableStore& variables, ThreadTeam& team);

  // To be called before and after a run of steps, as UpdateGate's functions.
  void BeginRun() {
    if (gate_) gate_->BeginRun();
  }
  void EndRun() {
    if (gate_) gate_->EndRun();
  }

  void BeginStep();
  // True if phases of updates are not even prepared.
  [[nodiscard]] bool is_refused() const { return state_ == State::kRefused; }
  // Whether the kernels of a phase run, which is prepared.
  [[nodiscard]] bool Admits(const PhasePlan& phase);
  // Fills `applied` and `not_finite` of the step's result.
  void EndStep(StepResult& result);

  // The guards of all processes are exchanged while one phase is prepared, if a phase before the
  // updates asks the other processes for anything.
  [[nodiscard]] bool IsExchangedIn(size_t phase) const { return phase_ == phase; }
  void GiveIn(size_t phase);
  void TakeIn(size_t phase);

 private:
  enum class State { kForward, kRows, kDoubt, kUpdates, kRefused };

  [[nodiscard]] std::optional<size_t> FindPhase() const;
  [[nodiscard]] bool GateAsksOthers() const { return gate_ && gate_->asks_others(); }
  void AskGuard();
  void PassGate();
  void CheckVariables();
  void Enter(const std::string& not_finite);
  [[nodiscard]] bool HoldsHere() const;
  [[nodiscard]] bool HoldsInAll() const;

  const CompiledProgram& program_;
  const StepMemory& memory_;
  std::optional<UpdateGate> gate_;     // of programs with a guard that write variables
  const std::optional<size_t> phase_;  // in which guards are exchanged
  bool exchanged_ = true;              // what the exchange has found
  State state_ = State::kForward;
  std::string not_finite_;  // the first variable, or ""
};

}  // namespace tpuest
