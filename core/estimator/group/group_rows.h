#pragma once
// Tables whose rows the processes of a group share (core/backend/row_owners.h).
//
//   Start, Evaluate, Predict   the chief deals the rows of its tables out: each worker makes the
//                              tables that the chief has, and gets its own rows in pieces
//   Steps, Batch               rows of others are guests (core/backend/cpu/row_fetch.h)
//   RowNumbers, RowValues      between those, the chief reads rows of the workers: for a
//                              checkpoint, an export, a batch that it runs alone

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/row_owners.h"
#include "core/estimator/group/orders.h"
#include "core/graph/graph.h"
#include "core/hosts/group.h"

namespace tpuest {

class GroupRows final : public RowOwners {
 public:
  // The group outlives it.
  GroupRows(Group& group, RowDeal deal)
      : RowOwners(group.size(), group.rank(), deal), group_(group) {}

  [[nodiscard]] std::vector<int64_t> Written(const std::string& table, int64_t first,
                                             int64_t n) override;
  [[nodiscard]] std::vector<bool> Read(const std::string& variable, int64_t table_rows,
                                       std::span<const int64_t> rows, int64_t width,
                                       float* to) override;

 private:
  Group& group_;
  std::mutex mutex_;  // one asks at a time
};

// In the chief, behind an order by which the workers wait for it: deals out what of its tables is
// not yet dealt.
void DealRows(Group& group, const VariableStore& store);
// In a worker: makes the graph's tables, as the chief has them, and takes its rows. Tables that the
// store has and the chief shares already stay. Error kResource where the budget is spent.
void TakeRows(Group& group, const Graph& graph, VariableStore& store);

// In a worker: answers a RowNumbersOrder or a RowValuesOrder; false for others.
[[nodiscard]] bool AnswerOfRows(Group& group, const TrainOrder& order, const VariableStore& store);

}  // namespace tpuest
