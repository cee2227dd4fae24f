#pragma once
// What a run's metrics.jsonl holds, as curves.

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
  std::vector<Series> series;  // those of training first, then as they appear

  // "accuracy" where the run has one evaluation, "EVAL/accuracy" where it has several;
  // "train/loss".
  [[nodiscard]] std::string NameOf(const Series& series) const;
  // Exactly that name. nullptr: there is none.
  [[nodiscard]] const Series* Named(const std::string& name) const;
  // By either form of it; by a metric's name alone that of the first evaluation that has it, or
  // else of training. nullptr: there is none.
  [[nodiscard]] const Series* Find(const std::string& name) const;
  // The last logged step; nullopt where there is no line.
  [[nodiscard]] std::optional<int64_t> last_step() const;
};

// Empty where there is no file. A last line that was cut is left out.
[[nodiscard]] RunSeries ReadRunSeries(const std::string& model_dir);
// The step of its last whole line, which is all that is read; nullopt: there is none.
[[nodiscard]] std::optional<int64_t> LastLoggedStep(const std::string& model_dir);
// The same of the file's text.
[[nodiscard]] RunSeries ParseRunSeries(const std::string& text);

}  // namespace tpuest::cli
