#pragma once
// What the scaffold of a job's model_fn says.

#include <map>
#include <string>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "core/estimator/contract/contract.h"

namespace tpuest::cli {

// TPUEstimatorSpec.scaffold_fn: what its Scaffold says.
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

// The model with that scaffold, over what its own does. Error kUsage, at the key, for a name that
// is none of the model's variables, and at the formula for one that does not fit its variable.
[[nodiscard]] ModelFn WithScaffold(ModelFn model_fn, const ScaffoldOptions& options);

}  // namespace tpuest::cli
