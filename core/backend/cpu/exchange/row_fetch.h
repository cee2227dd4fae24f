#pragma once
// The rows of tables that a phase looks up and other processes own
// (core/backend/rows/row_owners.h): before it begins each process tells every owner which rows its
// replicas ask for, once each, and gets those that are written; the rest it draws by itself.
// Meanwhile phases run that need none of them:
//
//   Ask      before the first phase behind which the numbers of the rows are known, and no update
//            of their tables is left: the questions leave
//   Answer   when the others' questions are there: between the blocks of a phase, at the latest
//            before the rows are taken
//   Take     before the phase that looks up, or another that gives or takes something
//
//   question of an owner   how many rows of each table, uint64 [tables], and the first piece of
//                          their numbers, int64; then the other pieces
//   answer                 pieces: PutRows of some of them (core/backend/rows/row_message.h)
//
// A piece is of kExchangedBytes or so, and holds rows of one table or of several, in their order.
// Both sides know how many there are, and of what.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/plan.h"
#include "core/backend/rows/row_keeping.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// One lookup.
struct FetchJob {
  const RowColumn* rows = nullptr;  // the weights of a table
  Buffer ids;                       // int32 or int64 [elements], of a replica
  DType dtype = DType::kInt64;
  int64_t elements = 0;
  bool is_shared = false;  // all replicas ask for the same
};

// What a phase looks up of others.
struct PhaseFetches {
  std::vector<FetchJob> jobs;
  std::vector<size_t> asks;  // phases for whose jobs is asked before this one begins
};

// Those of a program.
class RowFetches {
 public:
  using AtFn = std::function<const void*(Buffer, int replica)>;

  // By phase. `replicas`: of this process; `at` gives a buffer's memory for one of them.
  // `collective`: nullptr where the chief runs a program alone, while the others wait. The phases
  // and it outlive this.
  RowFetches(std::vector<const PhaseFetches*> phases, int replicas, const AtFn& at,
             Collective* collective);
  ~RowFetches();
  RowFetches(const RowFetches&) = delete;
  RowFetches& operator=(const RowFetches&) = delete;

  // All that a phase looks up is there, among its tables' remote, and what is asked before it is on
  // its way. `gives`: the phase gives the others something else, or takes it, when it begins. Error
  // kLost.
  void Prepare(size_t phase, bool gives);
  // While the kernels of a phase run that writes no rows, on any thread: answers the others where
  // they have asked. Error kLost.
  void AnswerIfAsked();
  // There are no remote any more.
  void ReleaseRemote() const;

 private:
  class Fetch;
  void TakeAll();

  const std::vector<const PhaseFetches*> phases_;
  std::vector<std::unique_ptr<Fetch>> fetches_;  // by phase; nullptr: it looks up nothing
  std::vector<Fetch*> asked_;                    // and not taken, in the order of their questions
};

}  // namespace tpuest
