#pragma once
// The options of the scaffold of a job's model_fn.

#include <map>
#include <string>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "core/estimator/contract/contract.h"

namespace tpuest::cli {

// The options of TPUEstimatorSpec.scaffold_fn's Scaffold.
struct ScaffoldOptions {
  std::map<std::string, std::string> restore;
  std::map<std::string, Formula> local_init;

  template <class V>
  void Visit(V& v) {
    v("restore", restore,
      {.help = "{NAME: VARIABLE}: evaluation, prediction and export read the variable from NAME in "
               "the checkpoint, as a Scaffold's saver does",
       .changes_bits = false});
    v("local_init", local_init,
      {.help = "{VARIABLE: FORMULA}: values set when a session begins, as a Scaffold's "
               "local_init_op does; a formula may use variables['NAME'] and global_step"});
  }
};

// Returns the model with that scaffold applied after its own. Error kUsage at the key for an
// unknown variable, and at the formula if its result does not fit the variable.
[[nodiscard]] ModelFn WithScaffold(ModelFn model_fn, const ScaffoldOptions& options);

}  // namespace tpuest::cli
