#pragma once
// tf.estimator's exporters: each decides whether to export an evaluation's checkpoint to
// export/<name>/<seconds>.
//
// The exports themselves record which ones a run has made: each contains the global step of its
// variables. So a resumed run exports and keeps the same ones as a run that was never stopped.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/estimator/options/eval_spec.h"

namespace tpuest {

// A completed evaluation.
struct Evaluated {
  std::string model_dir;
  std::string label;  // in metrics.jsonl
  int64_t global_step = 0;
  std::map<std::string, float> metrics;
  bool is_the_final_export = false;  // true if the run is complete at this step
};

class Exporter {
 public:
  explicit Exporter(std::string name) : name_(std::move(name)) {}
  virtual ~Exporter() = default;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // Returns the folder for a SavedModel of the evaluation; nullopt if the exporter does not want
  // one. Throws Error kUsage if the evaluation lacks its metric.
  [[nodiscard]] virtual std::optional<std::string> FolderFor(const Evaluated& evaluated) = 0;
  // Called after the wanted SavedModel is written: removes exports that are not kept.
  virtual void AfterExport(const Evaluated& /*evaluated*/) {}

 protected:
  // <model_dir>/export/<name>
  [[nodiscard]] std::string Folder(const std::string& model_dir) const;

 private:
  std::string name_;
};

// Makes tf.estimator's LatestExporter, BestExporter or FinalExporter, by the options.
[[nodiscard]] std::unique_ptr<Exporter> MakeExporter(const AnyExporter& options, Log& log);

// Removes what an interrupted run left in export/<name>: exports of steps after `last_step`, and
// unfinished ones.
void RemoveLaterExports(const std::string& model_dir, const std::string& name, int64_t last_step,
                        Log& log);

}  // namespace tpuest
