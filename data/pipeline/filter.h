#pragma once
// Selects the records of a source that an input_fn's filter keeps.

#include <memory>
#include <string>
#include <vector>

#include "data/examples/column_plan.h"
#include "data/examples/example_parser.h"
#include "data/source.h"

namespace tpuest::data {

struct FilterContext {
  InputPlan plan;                         // from PlanFilter
  const ExampleParser* parser = nullptr;  // outlives the source; nullptr: the source's columns
  int workers = 1;                        // threads of the one pass over an indexed source
  std::string key;                        // the filter's key path
};

// Returns for each record of the source whether the filter keeps it, in one pass over all records
// by the workers. Throws the errors of reading and parsing.
[[nodiscard]] std::vector<bool> TruthsOf(const IndexedSource& source, const FilterContext& context);

// Returns each record's length, by the plan of PlanLengths: the number of a list's values, or the
// result of a formula.
[[nodiscard]] std::vector<int64_t> LengthsOf(const IndexedSource& source,
                                             const FilterContext& context);

// Reads an indexed source once, by its workers, to find the records to keep, which can then be read
// in any order. A stream is filtered while it is read. Throws kData, at the key, if no record of an
// indexed source is kept, and the errors of reading and parsing.
[[nodiscard]] AnySource KeepRecords(AnySource source, FilterContext context);

}  // namespace tpuest::data
