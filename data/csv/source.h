#pragma once
// CSV files as one row of records, file after file.

#include <memory>
#include <string>

#include "data/csv/columns.h"
#include "data/csv/file.h"
#include "data/source.h"

namespace tpuest::data {

// The files' records, columns [] of the types that the job says or the first rows show; its `split`
// is applied, skip and take are not. Throws Error kUsage for the options, kData by file, line and
// column, also where more records are bad than `errors` allow.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenCsv(const CsvSource& options,
                                                     const std::string& key,
                                                     const DataErrors& errors = {});

// The columns, where the job says both their names and their types; nullopt otherwise. Throws Error
// kUsage for the options.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownCsvColumns(const CsvSource& options,
                                                                     const std::string& key);

}  // namespace tpuest::data
