#pragma once
// Tables whose rows are partitioned among the processes of a group
// (core/backend/rows/row_owners.h).
//
//   Start, Evaluate, Predict   the chief partitions the rows of its tables: each worker makes the
//                              same tables and receives its own rows in pieces; for training also
//                              their counts and notes
//   Steps, Batch               rows of other processes are remote
//                              (core/backend/cpu/exchange/row_fetch.h); each process counts and
//                              notes its own rows
//   RowRecords, CountRecords, RowValues
//                              between steps and batches, the chief reads the workers' rows and
//                              their records: for a checkpoint, an export, or a batch that only
//                              the chief runs

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_owners.h"
#include "core/estimator/group/control_messages.h"
#include "core/graph/graph.h"
#include "core/hosts/group.h"

namespace tpuest {

class GroupRows final : public RowOwners {
 public:
  // The group outlives it.
  GroupRows(hosts::Group& group, RowDeal deal)
      : RowOwners(group.size(), group.rank(), deal), group_(group) {}

  [[nodiscard]] std::vector<int64_t> Records(const std::string& table, RowRecords what,
                                             int64_t first, int64_t n) override;
  [[nodiscard]] int64_t CountRecords(const std::string& table, RowRecords what) override;
  void ForgetChanges() override;
  [[nodiscard]] std::vector<bool> Read(const std::string& variable, int64_t table_rows,
                                       std::span<const int64_t> rows, int64_t width,
                                       float* to) override;

 private:
  hosts::Group& group_;
  std::mutex mutex_;  // one caller at a time
};

// In the chief, after a message at which the workers wait for it: partitions those rows of its
// tables that are not partitioned yet.
void DealRows(hosts::Group& group, const VariableStore& store);
// In a worker: makes the graph's tables as the chief has them, and takes its rows. Tables that the
// store has and the chief shares already stay. Throws Error kResource if the budget is exceeded.
void TakeRows(hosts::Group& group, const Graph& graph, VariableStore& store);

// Partitions the counts and notes of rows that other processes own, once the tables exist; until
// then the chief has all of them. Throws Error kResource as TakeRows does.
void DealLines(hosts::Group& group, VariableStore& store);
void TakeLines(hosts::Group& group, VariableStore& store);

// In a worker: carries out a message that concerns only rows; returns false for others.
[[nodiscard]] bool AnswerOfRows(hosts::Group& group, const ControlMessage& message,
                                VariableStore& store);

}  // namespace tpuest
