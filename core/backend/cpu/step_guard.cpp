#include "core/backend/cpu/step_guard.h"

#include <cmath>

#include "core/backend/collective.h"
#include "core/backend/cpu/shared_sums.h"

namespace tpuest {
namespace {

std::optional<UpdateGate> GateOf(const CompiledProgram& program, const VariableStore& variables,
                                 ThreadTeam& team) {
  if (!program.WritesVariables() || !program.bound.guard.valid()) return std::nullopt;
  return std::optional<UpdateGate>(std::in_place, program.plan, variables, team,
                                   program.options.collective);
}

}  // namespace

StepGuard::StepGuard(const CompiledProgram& program, const StepMemory& memory,
                     const VariableStore& variables, ThreadTeam& team)
    : program_(program),
      memory_(memory),
      gate_(GateOf(program, variables, team)),
      phase_(FindPhase()) {}

// The first phase that asks the other processes for something when the guard is known. None if no
// process is asked, or if the gate asks for the guards.
std::optional<size_t> StepGuard::FindPhase() const {
  const Value& guard = program_.bound.guard;
  if (program_.options.collective == nullptr || !guard.valid()) return std::nullopt;
  if (GateAsksOthers()) return std::nullopt;
  const int known = program_.schedule.nodes[static_cast<size_t>(guard.node->id())].phase;
  const std::vector<PhasePlan>& phases = program_.plan.phases;
  for (size_t p = 0; p < phases.size(); ++p) {
    if (static_cast<int>(p) <= known) continue;
    if (phases[p].level >= Level::kGlobal && AsksOthers(phases[p])) return p;
    if (IsOfUpdates(phases[p])) break;
  }
  return std::nullopt;
}

void StepGuard::BeginStep() {
  state_ = program_.bound.guard.valid() ? State::kForward : State::kUpdates;
  not_finite_.clear();
}

bool StepGuard::Admits(const PhasePlan& phase) {
  if (!IsOfUpdates(phase)) return true;
  if (state_ == State::kForward) AskGuard();
  if (phase.level == Level::kUpdate) PassGate();
  return state_ == State::kRows || state_ == State::kUpdates;
}

void StepGuard::EndStep(StepResult& result) {
  if (state_ == State::kForward) AskGuard();
  PassGate();
  CheckVariables();
  result.applied = !is_refused();
  result.not_finite = not_finite_;
}

void StepGuard::AskGuard() {
  if (GateAsksOthers()) {
    state_ = HoldsHere() ? State::kRows : State::kDoubt;
  } else {
    state_ = HoldsInAll() ? State::kRows : State::kRefused;
  }
  if (state_ == State::kRows && gate_) gate_->BeforeRowUpdates();
}

void StepGuard::PassGate() {
  if (!gate_ || (state_ != State::kRows && state_ != State::kDoubt)) return;
  const auto at = [this](Buffer buffer) { return memory_.At(buffer, 0); };
  const UpdateGate::Found found = gate_->BeforeUpdates(at, state_ == State::kRows);
  state_ = State::kRefused;
  if (found.guard_holds) Enter(found.not_finite);
}

void StepGuard::CheckVariables() {
  if (gate_ && state_ == State::kUpdates) Enter(gate_->AfterUpdates());
}

// Enters kUpdates, or kRefused if a variable is not finite.
void StepGuard::Enter(const std::string& not_finite) {
  not_finite_ = not_finite;
  state_ = not_finite.empty() ? State::kUpdates : State::kRefused;
}

void StepGuard::GiveIn(size_t phase) {
  if (!IsExchangedIn(phase)) return;
  exchanged_ = HoldsHere();
  program_.options.collective->GiveWhetherHolds(exchanged_);
}
void StepGuard::TakeIn(size_t phase) {
  if (!IsExchangedIn(phase)) return;
  exchanged_ = program_.options.collective->TakeWhetherHolds(exchanged_);
}

// If the values of this process's replicas are finite, so is their mean.
bool StepGuard::HoldsHere() const {
  bool holds = true;
  for (int r = 0; r < program_.here.count; ++r) {
    const Tensor value = memory_.CopyOf(program_.bound.guard, program_.plan.guard, r);
    holds = holds && std::isfinite(value.AsDouble(0));
  }
  return holds;
}

bool StepGuard::HoldsInAll() const {
  if (phase_) return exchanged_;
  Collective* const collective = program_.options.collective;
  const bool here = HoldsHere();
  return collective == nullptr ? here : collective->HoldsInAll(here);
}

}  // namespace tpuest
