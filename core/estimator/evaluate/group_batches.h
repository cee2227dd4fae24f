#pragma once
// Evaluations and predictions whose batches the processes of a group run together.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/step/estimator_context.h"
#include "core/hosts/group.h"

namespace tpuest {

// One evaluation or prediction, in a process of a group or in a single process (`group` is
// nullptr). It ends with the scope, also for the workers.
class GroupBatches {
 public:
  GroupBatches(hosts::Group* group, Mode mode);
  ~GroupBatches();
  GroupBatches(const GroupBatches&) = delete;
  GroupBatches& operator=(const GroupBatches&) = delete;

  // In the chief: makes the workers take part. `files` are the files of its input; throws Error
  // kUsage for a file that several processes cannot read.
  void Start(const ControlMessage& message, const std::vector<std::string>& files);
  // Throws Error kUsage if the processes' files differ.
  void Agree(const std::vector<std::string>& files);

 private:
  hosts::Group* const group_;
  const Mode mode_;
  hosts::Activity before_ = hosts::Activity::kElsewhere;
  bool has_workers_ = false;
};

// Makes the stream produce only the rows of this process's replicas, if each replica has its own
// rows.
void TakeOwnRows(const EstimatorContext& context, Mode mode, BatchStream& stream);

struct BatchesToFollow {
  const InputFn& input_fn;
  uint64_t seed = 0;
  bool seeds_by_name = false;
  const std::map<std::string, Tensor>& variables;
  std::vector<std::shared_ptr<RowTable>> tables;  // tables that training has already
};

// In a worker: runs its part of the chief's batches to the end. Throws errors of the input, and the
// group's verdict.
void FollowBatches(EstimatorContext& context, InferenceModel& model, Mode mode,
                   const BatchesToFollow& batches);

}  // namespace tpuest
