#pragma once
// Writes predictions as JSON Lines, CSV or TFRecords.

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/process/files.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

// JSON Lines has one object a row, keys sorted. CSV has a header, then a line a row: a tensor of
// one element is a column, the elements of a longer one are columns of their own, which the head's
// classes name where there are as many ("probabilities/setosa"), and else their numbers. A batch
// that stays whole is no row of CSV: the command refuses it. TFRecords are tf.Examples with the
// columns' values as features.
class PredictionWriter {
 public:
  // path "-" is stdout. A file's folder is made, and the file appears under its name when Close
  // returns. `asked_for`: the predictions were named one by one; where they were not, CSV leaves
  // out the lists of all classes, which are the same in each row. Error kUsage for a format that is
  // none of "jsonl", "csv" and "tfrecord".
  PredictionWriter(const std::string& path, const std::string& format, bool asked_for);
  // Returns false if nobody reads any more (a closed pipe). Error kResource for a full disk.
  [[nodiscard]] bool Write(const PredictionRow& row);
  void Close();

 private:
  // What CSV has of a row.
  [[nodiscard]] std::map<std::string, Tensor> CsvColumns(const PredictionRow& row) const;
  [[nodiscard]] std::string CsvHeader(const PredictionRow& row) const;
  [[nodiscard]] bool Append(const std::string& text);

  std::string format_;
  bool asked_for_;
  bool started_ = false;
  std::unique_ptr<AtomicFile> file_;  // null: stdout
};

}  // namespace tpuest::cli
