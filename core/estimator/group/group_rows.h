#pragma once
// Tables whose rows the processes of a group share (core/backend/rows/row_owners.h).
//
//   Start, Evaluate, Predict   the chief deals the rows of its tables out: each worker makes the
//                              tables that the chief has, and gets its own rows in pieces; for
//                              training also what is counted and noted of them
//   Steps, Batch               rows of others are remote (core/backend/cpu/exchange/row_fetch.h);
//   each
//                              process counts and notes its own
//   RowRecords, CountRecords, RowValues
//                              between those, the chief reads rows of the workers, and what is
//                              known of them: for a checkpoint, an export, a batch that it runs
//                              alone

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_owners.h"
#include "core/estimator/group/orders.h"
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
  std::mutex mutex_;  // one asks at a time
};

// In the chief, behind an order by which the workers wait for it: deals out what of its tables is
// not yet dealt.
void DealRows(hosts::Group& group, const VariableStore& store);
// In a worker: makes the graph's tables, as the chief has them, and takes its rows. Tables that the
// store has and the chief shares already stay. Error kResource where the budget is spent.
void TakeRows(hosts::Group& group, const Graph& graph, VariableStore& store);

// The same with what is counted and noted of rows that others own, once the tables are there, of
// which the chief knew all so far. Error kResource as above.
void DealLines(hosts::Group& group, VariableStore& store);
void TakeLines(hosts::Group& group, VariableStore& store);

// In a worker: carries out an order that is of rows alone; false for others.
[[nodiscard]] bool AnswerOfRows(hosts::Group& group, const TrainOrder& order, VariableStore& store);

}  // namespace tpuest
