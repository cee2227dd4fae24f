#pragma once
// Reads rows from the standard input and returns each as soon as it arrives, for predictions in a
// pipe.

#include <memory>
#include <string>

#include "data/source.h"

namespace tpuest::data {

// Whether OpenLive can read the source: CSV, JSON lines with stated features, lines of text or
// TFRecords, from "-".
[[nodiscard]] bool IsLive(const SourceOptions& options);

// Waits for and reads a CSV header; reads rows only on demand. Decompresses gzip. All CSV columns
// have stated types (CsvSource::defaults_by_name). Throws kData, with the line, for a header that
// lacks a column.
[[nodiscard]] std::unique_ptr<StreamedSource> OpenLive(const SourceOptions& options,
                                                       const std::string& key);

}  // namespace tpuest::data
