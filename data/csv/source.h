#pragma once
// CSV files as one sequence of records, file after file.

#include <memory>
#include <string>

#include "data/csv/columns.h"
#include "data/csv/file.h"
#include "data/source.h"

namespace tpuest::data {

// Opens the files. Columns have shape [] and the types that the job states or the first rows show.
// Applies `split` but not skip and take. Throws kUsage for options; kData, with file, line and
// column, for bad records, also if there are more than `errors` allows.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenCsv(const CsvSource& options,
                                                     const std::string& key,
                                                     const DataErrors& errors = {});

// The columns, if the job states both their names and types; otherwise nullopt. Throws kUsage for
// options.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownCsvColumns(const CsvSource& options,
                                                                     const std::string& key);

}  // namespace tpuest::data
