#pragma once
// A look at a CSV file: what its columns hold, of how many kinds and on what scale. `tpuest init`
// writes a job from it.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"
#include "data/data_errors.h"
#include "data/source_options.h"

namespace tpuest::data {

// One column, as the records that were looked at show it.
struct CsvColumnProfile {
  std::string name;
  // The least of int32, int64, float32, float64, string that its fields fit; kInvalid: all empty.
  DType dtype = DType::kInvalid;
  int64_t present = 0;   // fields that are not empty
  int64_t missing = 0;   // fields that are
  int64_t trained = 0;   // fields of rows to train on that are not empty
  int64_t distinct = 0;  // different texts
  // Each text and how often it is there, in the order of the file; empty where there are more than
  // kMostListedTexts.
  std::vector<std::pair<std::string, int64_t>> texts;
  int64_t changes = 0;  // rows whose text is not that of the row looked at before
  // An index of the file: each number is as far from the first as its row is; or, of a file that
  // has some of another's rows, they rise and are dense from 0 on.
  bool counts_rows = true;
  // Statistics of a column of numbers, in its own unit: the range of all of them, and the moments
  // of those in rows to train on; `std` is divided by their count.
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

// The rows that are kept for evaluation: about this part of them, 0: none, by the hash of each as
// HashSplit does, or else the last ones.
struct KeptRows {
  double fraction = 0;
  bool last = false;
};

struct CsvProfile {
  CsvSource source;       // as given, with what was found: delimiter, na_value, compression
  int64_t rows = 0;       // records of the file
  int64_t looked_at = 0;  // spread evenly over the file
  int64_t bad = 0;        // of those
  int64_t kept = 0;       // of those, good ones that are kept for evaluation
  std::optional<BadRecord> first_bad;
  std::vector<CsvColumnProfile> columns;
};

// Looks at up to kMostProfiledRows records of source.file_pattern, one file. The delimiter, whether
// the file is compressed, and the word that stands for an empty field of numbers ("NA", "?", ...)
// are found from the bytes. Throws Error kData for what cannot be read, kUsage for a header that is
// none.
[[nodiscard]] CsvProfile ProfileCsv(const CsvSource& source, const KeptRows& kept = {});

}  // namespace tpuest::data
