#pragma once
// What runs a job: the commands, and their flags, for those that call one of them by name.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

[[nodiscard]] Command TrainCommand();
[[nodiscard]] Command TrainAndEvaluateCommand();
[[nodiscard]] Command EvaluateCommand();
[[nodiscard]] Command PredictCommand();
[[nodiscard]] Command ExportCommand();
[[nodiscard]] Command RunJobCommand();

struct EvaluateInvocation : Invocation {
  std::optional<std::string> name;
  std::vector<std::string> fail_if;
  bool follow = false;
};
struct PredictionFlags {
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> format;
  std::optional<int64_t> limit;  // rows
};
struct PredictInvocation : Invocation, PredictionFlags {};
struct ExportFlags {
  std::optional<int64_t> api_version;
  std::optional<std::string> export_dir;
  std::optional<int64_t> verify;  // records
};
struct ExportInvocation : Invocation, ExportFlags {};

void DeclareEvaluationName(FlagSet& flags, std::optional<std::string>& to);
void DeclarePredictionFlags(FlagSet& flags, PredictionFlags& to);
void DeclareExportFlags(FlagSet& flags, ExportFlags& to);

// Each returns the exit code.
int Train(const Invocation& invocation, config::Sources& sources);
int TrainAndEvaluate(const Invocation& invocation, config::Sources& sources);
int Evaluate(const EvaluateInvocation& invocation, config::Sources& sources);
int Predict(const PredictInvocation& invocation, config::Sources& sources);
int Export(const ExportInvocation& invocation, config::Sources& sources);
// Evaluates the checkpoints of a run that another process trains.
int Follow(const EvaluateInvocation& invocation, config::Sources& sources);

}  // namespace tpuest::cli
