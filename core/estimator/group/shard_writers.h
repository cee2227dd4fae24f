#pragma once
// Data shards of a checkpoint that the owners of its rows write (group_rows.h). Of a shard that
// holds nothing but tables whose rows the processes share the chief needs to see no row: it deals
// such shards out to the processes that see the run's folder, and says of each where a piece of it
// ends. Each writer gets its pieces from the rows' owners, so that what a process sends, holds and
// writes is about its part of all; the files are those that the chief writes alone.
//
//   SeesFolder     chief to workers    who has the chief's folder at model_dir?
//   WriteShards    chief to workers    which shard is whose, and where its pieces end
//
//   round 0   each process ── its rows of piece 0 of your shard ──▶ each writer
//             each writer: appends the piece ── written ──▶ each process
//   round 1   ...             nobody is more than two pieces ahead of a writer
//
//   at last   each writer: commits its shards, and reports what their tensors take, or what went
//             wrong: then the save ends with it, and the chief removes what is there

#include <string>

#include "core/backend/backend.h"
#include "core/estimator/group/orders.h"
#include "core/hosts/group.h"
#include "core/io/bundle.h"

namespace tpuest {

// In the chief, behind orders by which the workers wait for it: for BundleOptions::elsewhere of a
// checkpoint in model_dir. Errors are those of files, in any process, and kLost.
[[nodiscard]] WriteElsewhereFn OwnersWrite(hosts::Group& group, const VariableStore& store,
                                           const std::string& model_dir, bool fsync);

// In a worker: carries out an order that is of shards alone; false for others.
[[nodiscard]] bool AnswerOfShards(hosts::Group& group, const TrainOrder& order,
                                  const VariableStore& store, const std::string& model_dir);

}  // namespace tpuest
