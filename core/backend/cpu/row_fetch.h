#pragma once
// The rows of tables that a phase looks up and other processes own (core/backend/row_owners.h):
// before it begins each process tells every owner which rows its replicas ask for, once each, and
// gets those that are written; the rest it draws by itself.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/plan.h"
#include "core/backend/row_keeping.h"
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

// Makes what the jobs ask for their tables' guests. `replicas`: of this process; `at` gives a
// buffer's memory for one of them, counted from the first. `collective`: nullptr where the chief
// runs a program alone, while the others wait. Error kLost.
void FetchRows(const std::vector<FetchJob>& jobs, int replicas,
               const std::function<const void*(Buffer, int replica)>& at, Collective* collective);
// There are no guests any more.
void LetGuestsGo(const std::vector<FetchJob>& jobs);

}  // namespace tpuest
