#pragma once
// Statistics of a CSV file's columns: types, distinct values and ranges. `tpuest init` writes a job
// from them.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"
#include "data/data_errors.h"
#include "data/source_options.h"

namespace tpuest::data {

// One column, judging by the sampled records.
struct CsvColumnProfile {
  std::string name;
  // The first type of int32, int64, float32, float64, string that fits its fields; kInvalid: all
  // are empty.
  DType dtype = DType::kInvalid;
  int64_t present = 0;   // non-empty fields
  int64_t missing = 0;   // empty fields
  int64_t trained = 0;   // non-empty fields of training rows
  int64_t distinct = 0;  // different texts
  // Each text with its number of occurrences, in the order of the file; empty if there are more
  // than kMostListedTexts.
  std::vector<std::pair<std::string, int64_t>> texts;
  int64_t changes = 0;  // rows whose text differs from that of the previous sampled row
  // Whether the column numbers the rows: each number is as far from the first as its row is; or, in
  // a file with a part of another file's rows, numbers ascend and are dense from 0 on.
  bool counts_rows = true;
  // Statistics of a numeric column, in its own unit: the range of all numbers, and mean and
  // standard deviation (divided by n) over the training rows.
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;

  [[nodiscard]] bool is_number() const {
    return dtype != DType::kString && dtype != DType::kInvalid;
  }
};

inline constexpr size_t kMostListedTexts = 256;
inline constexpr int64_t kMostProfiledRows = 100000;

// The rows that are held out for evaluation: about this fraction (0: none), selected by a hash of
// each row as in HashSplit, or the last rows.
struct KeptRows {
  double fraction = 0;
  bool last = false;
};

struct CsvProfile {
  CsvSource source;       // as given, plus the detected delimiter, na_value and compression
  int64_t rows = 0;       // records of the file
  int64_t looked_at = 0;  // sampled records, spread evenly over the file
  int64_t bad = 0;        // bad records among them
  int64_t kept = 0;       // good records among them that are held out for evaluation
  std::optional<BadRecord> first_bad;
  std::vector<CsvColumnProfile> columns;
};

// Samples up to kMostProfiledRows records of the one file in source.file_pattern. Detects the
// delimiter, the compression, and the text of a missing number ("NA", "?", ...). Throws kData for
// an unreadable file, kUsage if the header is not one.
[[nodiscard]] CsvProfile ProfileCsv(const CsvSource& source, const KeptRows& kept = {});

}  // namespace tpuest::data
