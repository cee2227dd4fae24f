#include "core/estimator/export/exporter.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/estimator/export/export_folder.h"
#include "core/estimator/model_dir/evaluations.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

// The global step of an export's variables; nullopt if they are damaged or have none. Throws Error
// kResource if they cannot be read now, because a later attempt may succeed.
std::optional<int64_t> StepOfExport(const std::string& path) {
  const std::string prefix = SavedModelVariables(path);
  if (!CheckpointExists(prefix)) return std::nullopt;
  try {
    const BundleReader reader(prefix);
    const Tensor step = reader.Read(std::string(nn::kGlobalStepName));
    return step.elements() == 1 ? std::optional(static_cast<int64_t>(step.AsDouble(0)))
                                : std::nullopt;
  } catch (const Error& error) {
    if (error.code() == Code::kResource) throw;
    return std::nullopt;
  }
}

void KeepNewest(const std::string& folder, const std::optional<int64_t>& count) {
  if (!count) return;
  std::vector<std::string> paths = ExportsIn(folder);
  const auto most = static_cast<size_t>(*count);
  if (paths.size() <= most) return;
  paths.resize(paths.size() - most);
  for (const std::string& path : paths) RemoveExport(path);
}

class LatestExporter final : public Exporter {
 public:
  explicit LatestExporter(const LatestExporterOptions& options)
      : Exporter(options.name), exports_to_keep_(options.exports_to_keep) {}

  std::optional<std::string> FolderFor(const Evaluated& evaluated) override {
    return Folder(evaluated.model_dir);
  }
  void AfterExport(const Evaluated& evaluated) override {
    KeepNewest(Folder(evaluated.model_dir), exports_to_keep_);
  }

 private:
  std::optional<int64_t> exports_to_keep_;
};

class FinalExporter final : public Exporter {
 public:
  FinalExporter(const FinalExporterOptions& options, Log& log)
      : Exporter(options.name), log_(log) {}

  std::optional<std::string> FolderFor(const Evaluated& evaluated) override {
    if (!evaluated.is_the_final_export) return std::nullopt;
    log_.Info("Performing the final export in the end of training.");
    return Folder(evaluated.model_dir);
  }

 private:
  Log& log_;
};

class BestExporter final : public Exporter {
 public:
  BestExporter(const BestExporterOptions& options, Log& log)
      : Exporter(options.name), options_(options), log_(log) {}

  std::optional<std::string> FolderFor(const Evaluated& evaluated) override {
    const float current = CurrentMetric(evaluated.metrics);
    std::string folder = Folder(evaluated.model_dir);
    if (!has_looked_) {
      log_.Info("Loading best metric from event files.");
      best_ = Exported(evaluated, folder);
      has_looked_ = true;
    }
    // The first export is always made, whatever the earlier evaluations were.
    if (best_ && !options_.compare.Better(current, *best_)) return std::nullopt;
    log_.Info("Performing best model export.");
    return folder;
  }
  void AfterExport(const Evaluated& evaluated) override {
    best_ = CurrentMetric(evaluated.metrics);
    KeepNewest(Folder(evaluated.model_dir), options_.exports_to_keep);
  }

 private:
  [[nodiscard]] float CurrentMetric(const std::map<std::string, float>& metrics) const {
    const std::string& metric = options_.compare.metric;
    const auto found = metrics.find(metric);
    if (found != metrics.end()) return found->second;
    std::string names;
    for (const auto& [name, value] : metrics) names += (names.empty() ? "" : ", ") + name;
    throw Error(Code::kUsage,
                fmt::format("current_eval_result cannot be empty or no {} is found in it.", metric),
                fmt::format("BestExporter '{}' compares '{}', but the metrics are: {}", name(),
                            metric, names))
        .Key("eval_spec");
  }

  // The metric of the newest export. It is the best so far, because no later evaluation was better.
  [[nodiscard]] std::optional<float> Exported(const Evaluated& evaluated,
                                              const std::string& folder) const {
    const std::vector<std::string> paths = ExportsIn(folder);
    for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
      const std::optional<int64_t> step = StepOfExport(*path);
      if (!step || *step >= evaluated.global_step) continue;
      const auto metrics = EvaluationOrEventsAt(evaluated.model_dir, evaluated.label, *step);
      const auto found = metrics.find(options_.compare.metric);
      if (found != metrics.end()) return found->second;
    }
    return std::nullopt;
  }

  const BestExporterOptions options_;
  Log& log_;
  bool has_looked_ = false;
  std::optional<float> best_;
};

}  // namespace

std::string Exporter::Folder(const std::string& model_dir) const {
  return ExporterDir(model_dir, name_);
}

std::unique_ptr<Exporter> MakeExporter(const AnyExporter& options, Log& log) {
  if (const auto* const latest = std::get_if<LatestExporterOptions>(&options)) {
    return std::make_unique<LatestExporter>(*latest);
  }
  if (const auto* const best = std::get_if<BestExporterOptions>(&options)) {
    return std::make_unique<BestExporter>(*best, log);
  }
  return std::make_unique<FinalExporter>(std::get<FinalExporterOptions>(options), log);
}

void RemoveLaterExports(const std::string& model_dir, const std::string& name, int64_t last_step,
                        Log& log) {
  const std::string folder = ExporterDir(model_dir, name);
  for (const std::string& path : ExportsIn(folder)) {
    const std::optional<int64_t> step = StepOfExport(path);
    if (!step || *step <= last_step) continue;
    log.Info("Removing {} of step {}, which is after the step where this run resumes", path, *step);
    RemoveExport(path);
  }
  RemoveUnfinishedExports(folder);
}

}  // namespace tpuest
