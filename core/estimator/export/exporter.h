#pragma once
// tf.estimator's exporters: each makes, or does not make, an export of an evaluation's checkpoint,
// in export/<name>/<seconds>.
//
// The exports themselves tell which a run has made so far: each holds the global step of its
// variables. So a run that was cut and goes on exports and keeps what one in a piece would.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/estimator/options/eval_spec.h"

namespace tpuest {

// An evaluation that has ended.
struct Evaluated {
  std::string model_dir;
  std::string label;  // in metrics.jsonl
  int64_t global_step = 0;
  std::map<std::string, float> metrics;
  bool is_the_final_export = false;  // the run is complete with this step
};

class Exporter {
 public:
  explicit Exporter(std::string name) : name_(std::move(name)) {}
  virtual ~Exporter() = default;
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // The folder that is to get a SavedModel of the evaluation; nullopt where none is wanted. Error
  // kUsage for a metric that the evaluation lacks.
  [[nodiscard]] virtual std::optional<std::string> FolderFor(const Evaluated& evaluated) = 0;
  // Told once the wanted SavedModel is there: exports that are not kept are removed.
  virtual void AfterExport(const Evaluated& /*evaluated*/) {}

 protected:
  // <model_dir>/export/<name>
  [[nodiscard]] std::string Folder(const std::string& model_dir) const;

 private:
  std::string name_;
};

// tf.estimator's LatestExporter, BestExporter or FinalExporter, as the options say.
[[nodiscard]] std::unique_ptr<Exporter> MakeExporter(const AnyExporter& options, Log& log);

// Removes from export/<name> the leavings of a cut run: exports of later steps than `last_step`,
// and unfinished ones.
void RemoveLaterExports(const std::string& model_dir, const std::string& name, int64_t last_step,
                        Log& log);

}  // namespace tpuest
