#pragma once
// A checkpoint in memory, and what beside variables a checkpoint holds: entries "tpuest/...", which
// TensorFlow passes over. Nothing in them depends on a clock: a run that was cut and resumed writes
// the same bytes.
//
//   tpuest/seed             int64 []   tf_random_seed
//   tpuest/stream_position  int64 [2]  epoch, records consumed of it
//   tpuest/goal             int64 [2]  of an unfinished `steps: N`: the global step it ends at, N

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/io/bundle.h"
#include "core/io/object_graph.h"

namespace tpuest {

inline constexpr const char* kGoalEntry = "tpuest/goal";

struct Goal {
  int64_t step = 0;
  int64_t steps = 0;
  bool operator==(const Goal&) const = default;
};

struct ResumePoint {
  std::optional<uint64_t> seed;
  StreamPosition position;
  std::optional<Goal> goal;
};

struct SavedState {
  std::string prefix;
  int64_t global_step = 0;
  // By key: a variable's name, or in an object-based checkpoint what `objects` says. global_step
  // stands here under its name in either.
  std::map<std::string, Tensor> tensors;
  std::optional<ObjectGraph> objects;
  ResumePoint resume;
};

[[nodiscard]] std::vector<NamedTensor> ResumeEntries(const ResumePoint& point);
[[nodiscard]] ResumePoint ReadResumePoint(const std::map<std::string, Tensor>& tensors);

// Error kCheckpoint for one that is missing or damaged. `path`: as FindCheckpoint takes it.
[[nodiscard]] SavedState LoadCheckpoint(const std::string& path);

// The newest checkpoint of a folder that can be read whole; each one that cannot is told in a
// warning. nullopt if the folder has none; an Error if it has some and none can be read.
[[nodiscard]] std::optional<SavedState> LoadNewest(const std::string& model_dir, Log& log);

}  // namespace tpuest
