#pragma once
// The commands, one file each. Each returns the exit code.

#include "cli/invocation.h"

namespace tpuest::cli {

int Train(const Invocation& invocation);
int Follow(const Invocation& invocation);
int TrainAndEvaluate(const Invocation& invocation);
int Evaluate(const Invocation& invocation);
int Predict(const Invocation& invocation);
int Export(const Invocation& invocation);
int RunJob(const Invocation& invocation);
int ValidateCommand(const Invocation& invocation);
int PlanCommand(const Invocation& invocation);
int ConfigCommand(const Invocation& invocation);
int Init(const Invocation& invocation);
int Convert(const Invocation& invocation);
int CopyRecipe(const Invocation& invocation);
int Inspect(const Invocation& invocation);
int List(const Invocation& invocation);
int Average(const Invocation& invocation);
int Plot(const Invocation& invocation);
int Compare(const Invocation& invocation);
int Sweep(const Invocation& invocation);
int Completion(const Invocation& invocation);
int BenchCommand(const Invocation& invocation);
int Migrate(const Invocation& invocation);
int Doctor(const Invocation& invocation);
int Version(const Invocation& invocation);

}  // namespace tpuest::cli
