#pragma once
// Keeps non-finite values out of variables, although updates write in place.
//
// A step whose inputs are small numbers cannot overflow, and checking that a gradient is small
// costs a fraction of its update: each op's record states the bounds (core/graph/update_bounds.h).
// Variables are checked after writes from outside and every kSureSteps steps; in between they
// cannot have grown too much.
// Variables kept by rows need no bound: the table logs the values that it overwrites and checks the
// values that it writes, before any other variable is updated.
// If the bounds do not hold, the gate copies everything that is written, checks the result, and
// restores the copy if it is not finite: slower, but correct for any update.

#include <functional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/collective.h"
#include "core/backend/cpu/planner.h"
#include "core/backend/threads.h"

namespace tpuest {

// The gate of one program. One thread at a time calls it; the team's threads do its checks.
class UpdateGate {
 public:
  // All arguments outlive the gate. `collective`: connects the processes that may share tables;
  // either all of them copy a step's values and restore them, or none does. nullptr for a single
  // process.
  UpdateGate(const CpuPlan& plan, const VariableStore& variables, ThreadTeam& team,
             Collective* collective);

  // Called before a run of steps. Checks variables that were written since the last run.
  void BeginRun();
  // Called before the first row update of a step.
  void BeforeRowUpdates();
  // Whether BeforeUpdates asks the other processes, for the guard as well.
  [[nodiscard]] bool asks_others() const { return sharers_ != nullptr; }
  struct Found {
    bool guard_holds = true;  // in all processes that were asked
    std::string not_finite;   // the first table that is not finite, or ""
  };
  // Called before the first other update. `at` returns a buffer's memory; `guard_holds` is this
  // process's result. If a guard does not hold or a table is not finite, restores all tables to
  // their values before the step.
  [[nodiscard]] Found BeforeUpdates(const std::function<const void*(Buffer)>& at, bool guard_holds);
  // Called after the last update. Returns the first variable that is not finite, after restoring
  // all variables to their values before the step; otherwise "".
  [[nodiscard]] std::string AfterUpdates();
  // Called after a run of steps, when writes are noted.
  void EndRun();

 private:
  // Numbers to check against a range.
  struct Look {
    const void* memory = nullptr;
    DType dtype = DType::kFloat;
    int64_t elements = 0;
    double least = 0;
    double most = 0;
  };
  // True if `holds` is true for all parts, which have `elements` elements together.
  [[nodiscard]] bool All(size_t parts, int64_t elements, const std::function<bool(size_t)>& holds);
  [[nodiscard]] bool AreWithin(const std::vector<Look>& looks);
  [[nodiscard]] bool VariablesAreWithin();
  // Whether the update's rows exist and are unique; only then is their next variance known.
  [[nodiscard]] bool UpdateRowsOnce(const CenteredUpdate& update,
                                    const std::function<const void*(Buffer)>& at);
  [[nodiscard]] bool RootsAreWithin(const std::function<const void*(Buffer)>& at);
  // The first non-empty name in any process that shares tables, or "".
  [[nodiscard]] std::string InAny(const std::string& bad) const;
  [[nodiscard]] std::string BadTable() const;
  void Keep();
  void PutBack();
  void TakeBackRows();
  // The first variable that is not finite, or "".
  [[nodiscard]] std::string NotFinite() const;

  const CpuPlan& plan_;
  const VariableStore& variables_;
  ThreadTeam& team_;
  Collective* const sharers_;       // processes that share tables; nullptr: none
  std::vector<uint64_t> versions_;  // of the written variables, when the last run ended
  int64_t sure_steps_ = 0;          // steps for which the variables need no check
  bool keeps_ = false;              // whether the current step's values are copied
  std::vector<bool> seen_rows_;     // all false between uses
  std::vector<std::vector<char>> kept_;
};

}  // namespace tpuest
