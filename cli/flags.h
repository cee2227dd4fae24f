#pragma once
// The flags of the commands, and what each writes into the invocation. Errors (CLI::ParseError) say
// what a flag expects and what it found.

#include "cli/invocation.h"

namespace tpuest::cli {

// Of every command.
void AddCommonFlags(CLI::App& app, Invocation& to);

void AddTrainFlags(CLI::App& app, Invocation& to);
void AddEvaluateFlags(CLI::App& app, Invocation& to);
void AddPredictFlags(CLI::App& app, Invocation& to);
void AddExportFlags(CLI::App& app, Invocation& to);
void AddRunJobFlags(CLI::App& app, Invocation& to);
void AddPlanFlags(CLI::App& app, Invocation& to);
void AddConfigFlags(CLI::App& app, Invocation& to);
void AddInspectFlags(CLI::App& app, Invocation& to);
void AddBenchFlags(CLI::App& app, Invocation& to);
void AddMigrateFlags(CLI::App& app, Invocation& to);
void AddInitFlags(CLI::App& app, Invocation& to);
void AddCopyFlags(CLI::App& app, Invocation& to);
void AddConvertFlags(CLI::App& app, Invocation& to);
void AddAverageFlags(CLI::App& app, Invocation& to);
void AddCompareFlags(CLI::App& app, Invocation& to);
void AddPlotFlags(CLI::App& app, Invocation& to);
void AddSweepFlags(CLI::App& app, Invocation& to);

}  // namespace tpuest::cli
