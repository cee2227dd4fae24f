#pragma once
// Writes predictions as JSON Lines, CSV or TFRecords.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

// JSON Lines has one object a row, keys sorted. CSV has a header, then a line a row; the elements
// of a tensor are columns of their own ("probabilities/0"). A batch that stays whole is no row of
// CSV: the command refuses it. TFRecords are tf.Examples with the columns' values as features.
class PredictionWriter {
 public:
  // path "-" is stdout. A file's folder is made, and the file appears under its name when Close
  // returns. Error kUsage for a format that is none of "jsonl", "csv" and "tfrecord".
  PredictionWriter(const std::string& path, const std::string& format);
  // Returns false if nobody reads any more (a closed pipe). Error kResource for a full disk.
  [[nodiscard]] bool Write(const PredictionRow& row);
  void Close();

 private:
  [[nodiscard]] std::string CsvHeader(const PredictionRow& row) const;
  [[nodiscard]] bool Append(const std::string& text);

  std::string format_;
  bool started_ = false;
  std::unique_ptr<AtomicFile> file_;  // null: stdout
};

}  // namespace tpuest::cli
