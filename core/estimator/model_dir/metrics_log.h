#pragma once
// .tpuest/metrics.jsonl: one JSON object per line, for each logged step
//
//   {"step":100,"loss":0.25,"learning_rate":0.1,"examples_per_sec":6200.5,"input_wait":0.03,
//    "time":1795312360.125}
//
// and for each evaluation
//
//   {"step":100,"eval":"eval","metrics":{"accuracy":0.97,"loss":0.1}}
//
// Losses and metrics have the digits that restore the same float; a number that is not finite is
// null.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/base/process/files.h"
#include "core/tensor/tensor.h"

namespace tpuest {

struct StepLine {
  int64_t step = 0;
  float loss = 0;
  std::optional<float> learning_rate;
  double examples_per_sec = 0;
  double input_wait = 0;  // share of time spent waiting for input, 0..1
  double time = 0;        // when the step ended, in seconds since 1970
};

// Appends lines, and removes those that a resumed run will write again.
class MetricsLog {
 public:
  explicit MetricsLog(const std::string& model_dir);

  // Removes the lines of steps after this one, an incomplete last line, and damaged lines. Returns
  // the number of damaged ones.
  int64_t CutAfter(int64_t step);
  // Removes the evaluations of this step with one of these labels. No other process may append
  // meanwhile.
  void CutEvaluationsAt(int64_t step, const std::set<std::string>& labels);
  // Whether there is an evaluation of this step and label.
  [[nodiscard]] bool HasEvaluation(int64_t step, const std::string& label) const;
  void Append(const StepLine& line);
  // Appends the metrics that have one numeric element; skips all others.
  void AppendEvaluation(int64_t step, const std::string& name,
                        const std::map<std::string, Tensor>& metrics);

 private:
  void Keep(const std::function<bool(const std::string& line)>& keeps);
  void Write(const std::string& line);
  [[nodiscard]] std::string CutLine() const;

  std::string path_;
  std::unique_ptr<AppendFile> file_;  // opened for the first line
};

}  // namespace tpuest
