#pragma once
// The commands that run a job, and their flags, for those that call one of them by name.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest {
class Log;
struct TrainResult;
}  // namespace tpuest

namespace tpuest::cli {

[[nodiscard]] Command TrainCommand();
[[nodiscard]] Command TrainAndEvaluateCommand();
[[nodiscard]] Command EvaluateCommand();
[[nodiscard]] Command PredictCommand();
[[nodiscard]] Command ExportCommand();
[[nodiscard]] Command RunJobCommand();

// The flags of evaluate: --name, --fail-if (again and again), --follow.
struct EvaluateInvocation : Invocation {
  std::optional<std::string> name;
  std::vector<std::string> fail_if;
  bool follow = false;
};
struct PredictionFlags {
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> format;
  std::optional<int64_t> limit;  // at most so many rows are predicted
  bool force = false;            // --output may be there already
};
struct PredictInvocation : Invocation, PredictionFlags {};
enum class ExportFormat { kSavedModel, kKeras };
struct ExportFlags {
  std::optional<int64_t> api_version;
  std::optional<std::string> export_dir;
  std::optional<int64_t> verify;  // the export is compared on so many records
};
struct ExportInvocation : Invocation, ExportFlags {
  ExportFormat format = ExportFormat::kSavedModel;
  std::vector<std::string> outputs;  // of a .keras archive: layers, by name; none: the model's
};

// Each gives the command its flags, which write to `to`.
void DeclareEvaluationName(FlagSet& flags, std::optional<std::string>& to);
void DeclarePredictionFlags(FlagSet& flags, PredictionFlags& to);
void DeclareExportFlags(FlagSet& flags, ExportFlags& to);

// Each runs its command and returns the exit code: 0; 75 or 130 where a signal stopped it (training
// has saved then); Evaluate 8 where a --fail-if holds. Everything else is an Error (see
// shell/guarded.h). Results go to stdout, as a document with --json; log lines go to stderr.
int Train(const Invocation& invocation, config::Sources& sources);
int TrainAndEvaluate(const Invocation& invocation, config::Sources& sources);
int Evaluate(const EvaluateInvocation& invocation, config::Sources& sources);
int Predict(const PredictInvocation& invocation, config::Sources& sources);
int Export(const ExportInvocation& invocation, config::Sources& sources);
// TrainResult::stopped_because of a run that had its max_steps before.
inline constexpr std::string_view kAlreadyDone = "already at max_steps";
// Says at which step training has ended and why, or what goes on with a run that was done before;
// then where the run is, and the command that comes next.
void TellEnd(Log& log, const TrainResult& result, const std::string& model_dir, bool evaluates);
// Evaluates the checkpoints of a run that another process trains, until that has ended: exit code
// 0. Error kLost (7) after tpuest.deadlines.evaluator_secs without a trainer and a checkpoint.
int Follow(const EvaluateInvocation& invocation, config::Sources& sources);

}  // namespace tpuest::cli
