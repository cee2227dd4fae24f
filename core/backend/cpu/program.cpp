// The CPU engine: runs the phases of a CompiledProgram in order. StepGuard says which updates run,
// PhaseRunner runs the kernels, and before them Prepare gets what they need of other processes.
#include "core/backend/cpu/program.h"

#include <span>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/exchange/replica_gather.h"
#include "core/backend/cpu/exchange/row_fetch.h"
#include "core/backend/cpu/fetched_values.h"
#include "core/backend/cpu/phase_runner.h"
#include "core/backend/cpu/step_guard.h"
#include "core/backend/cpu/step_memory.h"
#include "core/backend/cpu/term_adder.h"
#include "core/backend/threads.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

std::vector<const PhaseFetches*> FetchesByPhase(const CpuPlan& plan) {
  std::vector<const PhaseFetches*> fetches;
  for (const PhasePlan& phase : plan.phases) fetches.push_back(&phase.fetches);
  return fetches;
}

// Owns a program and runs its steps. After construction it allocates only results and strings.
class CpuProgram final : public Program {
 public:
  CpuProgram(const ProgramSpec& spec, const CompileOptions& options, VariableStore& variables)
      : variables_(variables),
        team_(options.threads),
        program_(spec, options, variables),
        memory_(program_, team_.threads()),
        adder_(program_, memory_, team_),
        fetches_(
            FetchesByPhase(program_.plan), program_.here.count,
            [this](Buffer buffer, int replica) { return memory_.At(buffer, replica); },
            options.collective),
        guard_(program_, memory_, variables, team_),
        runner_(program_, memory_, adder_, fetches_, team_),
        values_(program_, memory_) {}

  // Kernels read and write variables at the store's addresses, so values that a device has are
  // brought home first, and the device's copies are old when a program that writes returns.
  std::vector<StepResult> Run(std::span<const StepFeeds> steps) override {
    variables_.CopyToHost();
    guard_.BeginRun();
    std::vector<StepResult> results;
    for (const StepFeeds& feeds : steps) {
      results.push_back(RunStep(feeds));
      if (!results.back().applied) break;
    }
    if (program_.WritesVariables()) variables_.NoteWrites();
    guard_.EndRun();
    return results;
  }

  [[nodiscard]] std::vector<Shape> fetch_shapes() const override {
    std::vector<Shape> shapes;
    for (const Value& fetch : program_.bound.fetches) shapes.push_back(fetch.shape());
    return shapes;
  }

  [[nodiscard]] MemoryUse memory() const override { return memory_.use(); }

 private:
  [[nodiscard]] const std::vector<PhasePlan>& phases() const { return program_.plan.phases; }

  StepResult RunStep(const StepFeeds& feeds) {
    CheckFeeds(feeds);
    memory_.SetFeeds(feeds);
    runner_.BeginStep(GlobalStep(), values_.BeginStep());
    guard_.BeginStep();
    for (size_t p = 0; p < phases().size(); ++p) {
      if (IsOfUpdates(phases()[p]) && guard_.is_refused()) continue;
      Prepare(p);
      if (guard_.Admits(phases()[p])) runner_.Run(p);
    }
    fetches_.ReleaseRemote();
    StepResult result;
    guard_.EndStep(result);
    if (program_.plan.counts_rows) variables_.EndStep(result.applied);
    values_.CopyTo(result);
    return result;
  }

  [[nodiscard]] uint64_t GlobalStep() const {
    if (!variables_.Has("global_step")) return 0;
    return static_cast<uint64_t>(variables_.Get("global_step").AsDouble(0));
  }

  void CheckFeeds(const StepFeeds& feeds) const {
    const std::vector<Value>& placeholders = program_.bound.feeds;
    Check(feeds.size() == placeholders.size(), "{} feeds for {} placeholders", feeds.size(),
          placeholders.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      const Value& placeholder = placeholders[i];
      Check(static_cast<int>(feeds[i].size()) == program_.options.replicas);
      for (const Tensor& tensor : feeds[i]) {
        Check(tensor.dtype() == placeholder.dtype() && tensor.shape() == placeholder.shape(),
              "'{}' takes {} {}, fed with {} {}", placeholder.name(), NameOf(placeholder.dtype()),
              placeholder.shape().Text(), NameOf(tensor.dtype()), tensor.shape().Text());
      }
    }
  }

  // Gets what the kernels of a phase need of other processes. This process sends all that they need
  // of it before it waits for anything of theirs.
  void Prepare(size_t index) {
    const PhasePlan& phase = phases()[index];
    fetches_.Prepare(index, !phase.gathers.empty() || guard_.IsExchangedIn(index));
    if (phase.level < Level::kGlobal) return;
    const auto at = [this](Buffer buffer, int replica) {
      return static_cast<char*>(const_cast<void*>(memory_.At(buffer, replica)));
    };
    adder_.Add(index);
    BeginGather(phase.gathers, program_.here, at, team_, program_.options.collective);
    guard_.GiveIn(index);
    adder_.Finish(index);
    EndGather(phase.gathers, program_.here, at, program_.options.collective);
    guard_.TakeIn(index);
  }

  VariableStore& variables_;
  ThreadTeam team_;
  const CompiledProgram program_;
  StepMemory memory_;
  TermAdder adder_;
  RowFetches fetches_;  // of rows that other processes own
  StepGuard guard_;
  PhaseRunner runner_;
  FetchedValues values_;
};

class CpuBackend final : public Backend {
 public:
  std::unique_ptr<Program> Compile(const ProgramSpec& spec, const CompileOptions& options,
                                   VariableStore& variables) override {
    return std::make_unique<CpuProgram>(spec, options, variables);
  }
  [[nodiscard]] bool keeps_rows() const override { return true; }
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend() { return std::make_unique<CpuBackend>(); }

}  // namespace tpuest
