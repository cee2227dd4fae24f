#pragma once
// Finds the learning rates and the periods in a job's options. The size of the input, which may
// require reading all of it, is needed only if some of them are in epochs.

#include <vector>

#include "cli/job/job_fwd.h"
#include "config/reflect.h"
#include "core/base/formula_text.h"

namespace tpuest::cli {

class EpochFinder {
 public:
  // Searches a value and everything below it.
  void Look(const config::Value& value);
  // Returns true if a period is in epochs, or a rate's formula uses them. Throws Error kUsage for a
  // rate that is not a formula.
  [[nodiscard]] bool found() const;
  // The learning rates that are formulas.
  [[nodiscard]] const std::vector<Formula>& formulas() const { return formulas_; }

 private:
  bool found_ = false;
  std::vector<Formula> formulas_;
};

// Has looked at all learning rates of a job: those of its optimizer, columns, tables and model.
[[nodiscard]] EpochFinder RatesOf(const Job& job);

}  // namespace tpuest::cli
