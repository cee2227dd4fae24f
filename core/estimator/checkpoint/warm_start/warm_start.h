#pragma once
// tf.estimator's warm start: a new run starts with values of another run's checkpoint.

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
  bool dealt_by_mod = false;  // how rows in the checkpoint's slices are partitioned (slice_order.h)
};

// The outcome for a variable of the graph: "loaded", "3 of 4 rows by vocabulary, the rest zeros",
// "skipped: ...", "new".
struct WarmStartRow {
  std::string variable;
  Shape shape;
  std::string outcome;
};

// Replaces the values of the graph's variables that `from` selects, all of which the store has, by
// those of its checkpoint. Rows and columns that stand for words move to the words' new positions.
// Logs and returns the outcome for each variable that is not local. Variables that the job sets
// (Variable::from_job) stay.
//
// Throws Error kCheckpoint in TensorFlow's words, at the key "warm_start_from", with every variable
// that the checkpoint lacks or has in another shape or dtype (unless those are skipped); kData for
// vocabularies; kUsage for an invalid pattern and for names that no selected variable has. The
// store is then unchanged.
std::vector<WarmStartRow> WarmStart(const WarmStartFrom& from, const Graph& graph,
                                    const WarmStartHome& home, VariableStore& store);

}  // namespace tpuest
