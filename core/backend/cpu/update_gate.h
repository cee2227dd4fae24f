#pragma once
// Keeps values that are not finite out of variables, though updates write in place.
//
// A step whose inputs are small numbers cannot overflow, and to see that a gradient is small takes
// one look at it, a fraction of what its update costs: the record of each op states the bounds
// (core/graph/update_bounds.h). Variables are looked at when they were written from outside and
// every kSureSteps steps; in between they cannot have grown too much.
// What is kept by rows needs no bound: its table notes what is written over, and looks at what is
// written, before any other variable is.
// Where the gate is not sure it keeps a copy of all that is written, looks at the result, and puts
// the copy back if it is not finite: slower, but any update may do anything.

#include <functional>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/collective.h"
#include "core/backend/cpu/planner.h"
#include "core/backend/threads.h"

namespace tpuest {

// The gate of one program. One thread at a time, but for the team's.
class UpdateGate {
 public:
  // All outlive the gate. `collective`: of processes that may share tables, or nullptr; then all of
  // them keep a step's values, and put them back, or none does.
  UpdateGate(const CpuPlan& plan, const VariableStore& variables, ThreadTeam& team,
             Collective* collective);

  // To be called before a run of steps: what was written meanwhile is looked at again.
  void BeginRun();
  // To be called before the first update of rows of a step.
  void BeforeRowUpdates();
  // Whether BeforeUpdates asks the other processes, for the guard as well.
  [[nodiscard]] bool asks_others() const { return sharers_ != nullptr; }
  struct Found {
    bool guard_holds = true;  // in all processes that it asks
    std::string not_finite;   // the first table that is not finite, or ""
  };
  // To be called before the first other one; `at` gives a buffer's memory, `guard_holds` is this
  // process's own. Where either is not as it has to be, tables are as they were before the step.
  [[nodiscard]] Found BeforeUpdates(const std::function<const void*(Buffer)>& at, bool guard_holds);
  // To be called after the last one: the first variable that is not finite, in which case all are
  // as they were before the step; else "".
  [[nodiscard]] std::string AfterUpdates();
  // To be called after a run of steps, when writes are noted.
  void EndRun();

 private:
  // Numbers that have to be within a range.
  struct Look {
    const void* memory = nullptr;
    DType dtype = DType::kFloat;
    int64_t elements = 0;
    double least = 0;
    double most = 0;
  };
  // True if all parts hold, which have so many elements together.
  [[nodiscard]] bool All(size_t parts, int64_t elements, const std::function<bool(size_t)>& holds);
  [[nodiscard]] bool AreWithin(const std::vector<Look>& looks);
  [[nodiscard]] bool VariablesAreWithin();
  // Whether the update is of rows that there are, of each once; then their next variance is known.
  [[nodiscard]] bool UpdateRowsOnce(const CenteredUpdate& update,
                                    const std::function<const void*(Buffer)>& at);
  [[nodiscard]] bool RootsAreWithin(const std::function<const void*(Buffer)>& at);
  // The first that is given in any process that shares tables, or "".
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
  Collective* const sharers_;       // of tables; nullptr: there are none
  std::vector<uint64_t> versions_;  // of the written variables, when the last run ended
  int64_t sure_steps_ = 0;          // steps for which the variables need no look
  bool keeps_ = false;              // of the step that runs
  std::vector<bool> seen_rows_;     // all false between uses
  std::vector<std::vector<char>> kept_;
};

}  // namespace tpuest
