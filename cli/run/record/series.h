#pragma once
// The curves that a run's metrics.jsonl holds.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

struct SeriesPoint {
  int64_t step = 0;
  double value = 0;  // NaN where the file has null
};

// One curve: "loss" of "train", or a metric of an evaluation.
struct Series {
  std::string of;  // "train", or the evaluation's name
  std::string metric;
  std::vector<SeriesPoint> points;  // steps ascend
};

struct RunSeries {
  std::vector<Series> series;  // curves of training first, then in the order of the file

  // The name that a person reads: "train/loss"; "accuracy" where the run has one evaluation,
  // "EVAL/accuracy" where it has several.
  [[nodiscard]] std::string NameOf(const Series& series) const;
  // The curve whose NameOf is exactly that. nullptr: there is none.
  [[nodiscard]] const Series* Named(const std::string& name) const;
  // The curve of a name in either form; a metric's name alone is that of the first evaluation that
  // has it, or else of training. nullptr: there is none.
  [[nodiscard]] const Series* Find(const std::string& name) const;
  // The last logged step; nullopt where there is no line.
  [[nodiscard]] std::optional<int64_t> last_step() const;
};

// Empty where there is no file. A last line that was cut off is left out.
[[nodiscard]] RunSeries ReadRunSeries(const std::string& model_dir);
// The global step of the file's last whole line, read from its last 4 KiB; nullopt: there is none.
[[nodiscard]] std::optional<int64_t> LastLoggedStep(const std::string& model_dir);
// The curves of a text as metrics.jsonl has it. Lines that are no JSON are left out.
[[nodiscard]] RunSeries ParseRunSeries(const std::string& text);

}  // namespace tpuest::cli
