#pragma once
// Evaluations and predictions whose batches the processes of a group run together.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/orders.h"
#include "core/estimator/step/estimator_context.h"
#include "core/hosts/group.h"

namespace tpuest {

// One of them, in a process of a group or in one that is alone: `group` is nullptr then. It ends
// with the scope, for the workers, too.
class GroupBatches {
 public:
  GroupBatches(hosts::Group* group, Mode mode);
  ~GroupBatches();
  GroupBatches(const GroupBatches&) = delete;
  GroupBatches& operator=(const GroupBatches&) = delete;

  // In the chief: has the workers take part. `files` are its input's; Error kUsage for one that
  // several processes cannot read.
  void Start(const TrainOrder& order, const std::vector<std::string>& files);
  // Error kUsage where the processes' files differ.
  void Agree(const std::vector<std::string>& files);

 private:
  hosts::Group* const group_;
  const Mode mode_;
  hosts::Activity before_ = hosts::Activity::kElsewhere;
  bool has_workers_ = false;
};

// Has the stream make the rows of this process's replicas alone, where each has its own.
void TakeOwnRows(const EstimatorContext& context, Mode mode, BatchStream& stream);

struct BatchesToFollow {
  const InputFn& input_fn;
  uint64_t seed = 0;
  bool seeds_by_name = false;
  const std::map<std::string, Tensor>& variables;
  std::vector<std::shared_ptr<RowTable>> tables;  // those that training has
};

// In a worker: runs its part of the batches that the chief runs, to their end. Throws what the
// input throws, and the group's verdict.
void FollowBatches(EstimatorContext& context, InferenceModel& model, Mode mode,
                   const BatchesToFollow& batches);

}  // namespace tpuest
