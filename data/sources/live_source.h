#pragma once
// Rows of the standard input, each given as soon as it is there: for predictions in a pipe.

#include <memory>
#include <string>

#include "data/source.h"

namespace tpuest::data {

// Whether the source is one that OpenLive reads: CSV, JSON lines with stated features, lines of
// text or TFRecords, out of "-".
[[nodiscard]] bool IsLive(const SourceOptions& options);

// Reads a CSV header, and with it waits for it; rows only when they are asked for. gzip is
// inflated. The types of CSV columns are all stated (CsvSource::defaults_by_name). Throws Error
// kData, with its line, for a header that lacks a column.
[[nodiscard]] std::unique_ptr<StreamedSource> OpenLive(const SourceOptions& options,
                                                       const std::string& key);

}  // namespace tpuest::data
