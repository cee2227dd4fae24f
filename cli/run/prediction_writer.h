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

// JSON Lines has one object per row, with sorted keys. CSV has a header, then a line per row. A
// tensor of one element is one column. Each element of a longer tensor is a column, named by the
// head's classes if their number fits ("probabilities/setosa"), otherwise by its index. CSV cannot
// hold whole batches: the command refuses them. TFRecords are tf.Examples with the columns' values
// as features.
class PredictionWriter {
 public:
  // path "-" is stdout. The constructor creates a file's folder; the file appears under its name
  // when Close returns. `asked_for` is true if the job names the predictions one by one; otherwise
  // CSV leaves out the lists of all classes, which are the same in each row. Error kUsage for a
  // format other than "jsonl", "csv" and "tfrecord".
  PredictionWriter(const std::string& path, const std::string& format, bool asked_for);
  // Returns false if the reader has closed the pipe. Error kResource for a full disk.
  [[nodiscard]] bool Write(const PredictionRow& row);
  void Close();

 private:
  // Returns the columns of a row that CSV has.
  [[nodiscard]] std::map<std::string, Tensor> CsvColumns(const PredictionRow& row) const;
  [[nodiscard]] std::string CsvHeader(const PredictionRow& row) const;
  [[nodiscard]] bool Append(const std::string& text);

  std::string format_;
  bool asked_for_;
  bool started_ = false;
  std::unique_ptr<AtomicFile> file_;  // null: stdout
};

}  // namespace tpuest::cli
