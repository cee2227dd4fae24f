#pragma once
// Data shards of a checkpoint that the owners of its rows write (group_rows.h). For a shard that
// contains only tables whose rows the processes share, the chief needs no rows: it assigns such
// shards to the processes that see the run's folder, and tells them where the shard's pieces end.
// Each writer gets its pieces from the rows' owners, so each process sends, holds and writes about
// its own share. The files are the same as those that a single process writes.
//
//   SeesFolder     chief to workers    who has the chief's folder at model_dir?
//   WriteShards    chief to workers    the writer of each shard, and where its pieces end
//
//   round 0   each process ── its rows of piece 0 of your shard ──▶ each writer
//             each writer: appends the piece ── written ──▶ each process
//   round 1   ...             no process is more than two pieces ahead of a writer
//
//   finally   each writer commits its shards and reports the sizes of their tensors, or an error:
//             then the save fails with it, and the chief removes the files

#include <string>

#include "core/backend/backend.h"
#include "core/estimator/group/control_messages.h"
#include "core/hosts/group.h"
#include "core/io/bundle.h"

namespace tpuest {

// In the chief, after messages at which the workers wait for it: for BundleOptions::elsewhere of a
// checkpoint in model_dir. Throws errors of files, in any process, and kLost.
[[nodiscard]] WriteElsewhereFn OwnersWrite(hosts::Group& group, const VariableStore& store,
                                           const std::string& model_dir, bool fsync);

// In a worker: carries out a message that concerns only shards; returns false for others.
[[nodiscard]] bool AnswerOfShards(hosts::Group& group, const ControlMessage& message,
                                  const VariableStore& store, const std::string& model_dir);

}  // namespace tpuest
