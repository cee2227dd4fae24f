#pragma once
// The commands that run a job and their flags, for code that calls one of them by name.

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

// The flags of evaluate: --name, --fail-if (may be repeated), --follow.
struct EvaluateInvocation : Invocation {
  std::optional<std::string> name;
  std::vector<std::string> fail_if;
  bool follow = false;
};
struct PredictionFlags {
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> format;
  std::optional<int64_t> limit;  // predict at most this many rows
  bool force = false;            // overwrite an existing --output
};
struct PredictInvocation : Invocation, PredictionFlags {};
enum class ExportFormat { kSavedModel, kKeras };
struct ExportFlags {
  std::optional<int64_t> api_version;
  std::optional<std::string> export_dir;
  std::optional<int64_t> verify;  // compare the export on this many records
};
struct ExportInvocation : Invocation, ExportFlags {
  ExportFormat format = ExportFormat::kSavedModel;
  std::vector<std::string>
      outputs;  // names of the layers that a .keras archive ends in; empty: the model's outputs
};

// Each declares the command's flags, which write to `to`.
void DeclareEvaluationName(FlagSet& flags, std::optional<std::string>& to);
void DeclarePredictionFlags(FlagSet& flags, PredictionFlags& to);
void DeclareExportFlags(FlagSet& flags, ExportFlags& to);

// Each runs its command and returns the exit code: 0; 75 or 130 if a signal stopped it (after
// training has saved); 8 from Evaluate if a --fail-if holds. Everything else is an Error (see
// shell/guarded.h). Results go to stdout, as a document with --json; log lines go to stderr.
int Train(const Invocation& invocation, config::Sources& sources);
int TrainAndEvaluate(const Invocation& invocation, config::Sources& sources);
int Evaluate(const EvaluateInvocation& invocation, config::Sources& sources);
int Predict(const PredictInvocation& invocation, config::Sources& sources);
int Export(const ExportInvocation& invocation, config::Sources& sources);
// TrainResult::stopped_because of a run that had reached max_steps before it started.
inline constexpr std::string_view kAlreadyDone = "already at max_steps";
// Logs at which step training ended and why, or how to continue a run that was already done; then
// where the run is, and the next command.
void TellEnd(Log& log, const TrainResult& result, const std::string& model_dir, bool evaluates);
// Evaluates the checkpoints of a run that another process trains, until that has ended: exit code
// 0. Error kLost (7) after tpuest.deadlines.evaluator_secs without a trainer and a checkpoint.
int Follow(const EvaluateInvocation& invocation, config::Sources& sources);

}  // namespace tpuest::cli
