#pragma once
// Fetches the rows that a phase looks up in tables and other processes own
// (core/backend/rows/row_owners.h). Before the phase each process sends every owner the unique row
// numbers that its replicas need, and receives the materialized rows; it computes the initial
// values of all other rows itself. Phases that need none of these rows run in the meantime:
//
//   Ask      before the first phase at which the row numbers are known and no update of their
//            tables is pending: sends the questions
//   Answer   as soon as the peers' questions have arrived: between the blocks of a phase, at the
//            latest before the rows are taken
//   Take     before the phase that looks up, or before another exchange
//
//   question to an owner   number of rows of each table, uint64 [tables], and the first piece of
//                          the row numbers, int64; then the other pieces
//   answer                 pieces: PutRows of some of the rows (core/backend/rows/row_message.h)
//
// A piece has about kExchangedBytes and holds rows of one or more tables, in order. Both sides know
// how many pieces follow and which rows each holds.

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
  bool is_shared = false;  // all replicas look up the same rows
};

// The lookups of a phase that need rows of other processes.
struct PhaseFetches {
  std::vector<FetchJob> jobs;
  std::vector<size_t> asks;  // phases whose questions are sent before this one begins
};

// Performs the row fetches of a program.
class RowFetches {
 public:
  using AtFn = std::function<const void*(Buffer, int replica)>;

  // `phases`: the fetches by phase. `replicas`: number of this process's replicas; `at` returns a
  // buffer's memory for one of them. `collective` is nullptr if only the chief runs the program
  // while its peers wait. `phases` and `collective` outlive this object.
  RowFetches(std::vector<const PhaseFetches*> phases, int replicas, const AtFn& at,
             Collective* collective);
  ~RowFetches();
  RowFetches(const RowFetches&) = delete;
  RowFetches& operator=(const RowFetches&) = delete;

  // On return all rows that a phase looks up are among its tables' remote rows, and the questions
  // that are due before it are sent. `gives`: the phase begins with another exchange with the
  // peers. Throws kLost.
  void Prepare(size_t phase, bool gives);
  // Answers the peers' questions that have arrived. Called on any thread while the kernels of a
  // phase run that writes no rows. Throws kLost.
  void AnswerIfAsked();
  // Releases all remote rows.
  void ReleaseRemote() const;

 private:
  class Fetch;
  void TakeAll();

  const std::vector<const PhaseFetches*> phases_;
  std::vector<std::unique_ptr<Fetch>> fetches_;  // by phase; nullptr: no remote rows needed
  std::vector<Fetch*> asked_;  // asked but not yet taken, in the order of their questions
};

}  // namespace tpuest
