#pragma once
// Reads the curves of a run's metrics.jsonl.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

struct SeriesPoint {
  int64_t step = 0;
  double value = 0;  // NaN if the file has null
};

// One curve: "loss" of "train", or a metric of an evaluation.
struct Series {
  std::string of;  // "train", or the evaluation's name
  std::string metric;
  std::vector<SeriesPoint> points;  // steps ascend
};

struct RunSeries {
  std::vector<Series> series;  // curves of training first, then in the order of the file

  // Returns the name that a person reads: "train/loss"; "accuracy" if the run has one evaluation,
  // "EVAL/accuracy" if it has several.
  [[nodiscard]] std::string NameOf(const Series& series) const;
  // Returns the curve whose NameOf is exactly `name`; nullptr if none is.
  [[nodiscard]] const Series* Named(const std::string& name) const;
  // Returns the curve of a name in either form; a bare metric name means the first evaluation that
  // has it, otherwise training. nullptr if no curve has the name.
  [[nodiscard]] const Series* Find(const std::string& name) const;
  // Returns the last logged step; nullopt without a line.
  [[nodiscard]] std::optional<int64_t> last_step() const;
};

// Returns no curves if the file does not exist. An incomplete last line is ignored.
[[nodiscard]] RunSeries ReadRunSeries(const std::string& model_dir);
// Returns the global step of the file's last complete line, read from its last 4 KiB; nullopt if it
// has none.
[[nodiscard]] std::optional<int64_t> LastLoggedStep(const std::string& model_dir);
// Parses the text of a metrics.jsonl. Lines that are not JSON are ignored.
[[nodiscard]] RunSeries ParseRunSeries(const std::string& text);

}  // namespace tpuest::cli
