#pragma once
// The records of a source that an input_fn's filter keeps.

#include <memory>
#include <string>
#include <vector>

#include "data/examples/column_plan.h"
#include "data/examples/example_parser.h"
#include "data/source.h"

namespace tpuest::data {

struct FilterContext {
  InputPlan plan;                         // of PlanFilter
  const ExampleParser* parser = nullptr;  // outlives the source; nullptr: the source's columns
  int workers = 1;                        // threads of the one pass over an indexed source
  std::string key;                        // the filter's key path
};

// For each record of the source, whether the filter keeps it: one pass over all of them by its
// workers. Throws what reading and parsing throw.
[[nodiscard]] std::vector<bool> TruthsOf(const IndexedSource& source, const FilterContext& context);

// For each record its length, by the plan of PlanLengths: the number of a list's values, or the
// number that a formula gives.
[[nodiscard]] std::vector<int64_t> LengthsOf(const IndexedSource& source,
                                             const FilterContext& context);

// An indexed source is read once, here, by its workers: which records are kept is known then, and
// they are read in any order as before. A stream is filtered as it is read. Throws Error kData, at
// the key, where no record of an indexed source is kept, and what reading and parsing throw.
[[nodiscard]] AnySource KeepRecords(AnySource source, FilterContext context);

}  // namespace tpuest::data
