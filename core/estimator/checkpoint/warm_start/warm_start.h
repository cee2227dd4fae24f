#pragma once
// tf.estimator's warm start: a new run takes up values of another's checkpoint.

#include <cstdint>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/options/warm_start_settings.h"
#include "core/graph/graph.h"

namespace tpuest {

// The surroundings of a warm start.
struct WarmStartHome {
  Backend& backend;
  uint64_t seed = 0;  // for backup initializers
  Log& log;
  bool dealt_by_mod = false;  // rows of the checkpoint's slices (slice_order.h)
};

// The outcome for a variable of the graph: "loaded", "3 of 4 rows by vocabulary, the rest zeros",
// "skipped: ...", "new".
struct WarmStartRow {
  std::string variable;
  Shape shape;
  std::string outcome;
};

// Replaces the values of the graph's variables that `from` picks, all of which the store has, by
// those of its checkpoint. Rows and columns that stand for words move to where the words are now.
// Logs and returns the outcome for each variable that is not local. Numbers that are the job's to
// say (Variable::from_job) stay.
//
// Error kCheckpoint in TensorFlow's words, at the key "warm_start_from", with every variable that
// the checkpoint lacks or has in another shape or dtype (unless those are skipped); kData for
// vocabularies; kUsage for a pattern that is none and for names that no picked variable has. The
// store is then as it was.
std::vector<WarmStartRow> WarmStart(const WarmStartFrom& from, const Graph& graph,
                                    const WarmStartHome& home, VariableStore& store);

}  // namespace tpuest
