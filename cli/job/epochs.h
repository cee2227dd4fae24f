#pragma once
// Finds the learning rates and the periods of a job's options. Only where some of them are in
// epochs is the input asked for its size, which may mean reading all of it.

#include <vector>

#include "cli/job/job_fwd.h"
#include "config/reflect.h"
#include "core/base/formula_text.h"

namespace tpuest::cli {

class EpochFinder {
 public:
  // Looks at a value and all that it holds.
  void Look(const config::Value& value);
  // True if a period is in epochs, or a rate's formula names them. Throws Error kUsage for a rate
  // that is no formula.
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
