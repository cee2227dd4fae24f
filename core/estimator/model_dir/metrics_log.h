#pragma once
// .tpuest/metrics.jsonl: a JSON object a line, one for each logged step
//
//   {"step":100,"loss":0.25,"learning_rate":0.1,"examples_per_sec":6200.5,"input_wait":0.03,
//    "time":1795312360.125}
//
// and one for each evaluation
//
//   {"step":100,"eval":"eval","metrics":{"accuracy":0.97,"loss":0.1}}
//
// Losses and metrics have the digits that give the same float back; a number that is not finite is
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
  double input_wait = 0;  // share of time, 0..1
  double time = 0;        // when the step ended, in seconds since 1970
};

// Appends lines, and takes back those that a run which goes on makes again.
class MetricsLog {
 public:
  explicit MetricsLog(const std::string& model_dir);

  // Takes out the lines of steps after this one, a last line that was cut, and lines that are
  // damaged. Returns how many of the latter there were.
  int64_t CutAfter(int64_t step);
  // Takes out the evaluations of this step that have one of these labels. Only while nobody else
  // appends.
  void CutEvaluationsAt(int64_t step, const std::set<std::string>& labels);
  // Whether there is an evaluation of this step and label.
  [[nodiscard]] bool HasEvaluation(int64_t step, const std::string& label) const;
  void Append(const StepLine& line);
  // Appends the metrics that have one numeric element; others are left out.
  void AppendEvaluation(int64_t step, const std::string& name,
                        const std::map<std::string, Tensor>& metrics);

 private:
  void Keep(const std::function<bool(const std::string& line)>& keeps);
  void Write(const std::string& line);
  [[nodiscard]] std::string CutLine() const;

  std::string path_;
  std::unique_ptr<AppendFile> file_;  // opened by the first line
};

}  // namespace tpuest
