// tpuest compare RUN RUN...

#include "cli/many/commands.h"
#include "cli/many/compare_report.h"
#include "cli/run/record/folds.h"
#include "cli/shell/json.h"

namespace tpuest::cli {
namespace {

struct CompareInvocation : Invocation {
  bool folds = false;
};

void Declare(FlagSet& flags, CompareInvocation& to) {
  flags.Switch("--folds", to.folds,
               "the runs are folds of one job (or all in one folder): mean and spread of each "
               "metric");
}

int CompareFolds(const CompareInvocation& invocation, config::Sources& sources) {
  std::vector<ComparedRun> runs;
  for (const std::string& folder : invocation.arguments) {
    for (const std::string& path : RunsBelow(folder)) runs.push_back(ReadRun(path, sources));
  }
  if (runs.empty()) {
    throw Error(Code::kUsage, "compare --folds takes the folds' runs, or the folder they are in",
                "tpuest compare --folds runs/mnist");
  }
  const std::vector<FoldMetric> metrics = FoldMetrics(runs);
  if (invocation.json) {
    PrintDocument("compare", FoldsJson(runs, metrics));
  } else {
    fmt::print("{}", FoldsText(runs, metrics));
  }
  return 0;
}

int Compare(const CompareInvocation& invocation, config::Sources& sources) {
  if (invocation.folds) return CompareFolds(invocation, sources);
  if (invocation.arguments.size() < 2) {
    throw Error(Code::kUsage, "compare takes two runs or more", "tpuest compare runs/a runs/b");
  }
  CompareReport report;
  for (const std::string& path : invocation.arguments) {
    report.runs.push_back(ReadRun(path, sources));
  }
  report.keys = KeyDifferences(report.runs);
  report.program = ProgramDifferences(report.runs);
  for (size_t i = 1; i < report.runs.size(); ++i) {
    report.partings.push_back(PartingOf(report.runs[0], report.runs[i]));
  }
  if (invocation.json) {
    PrintDocument("compare", CompareJson(report));
  } else {
    fmt::print("{}", CompareText(report));
  }
  return 0;
}

}  // namespace

Command CompareCommand() {
  return MakeCommand<CompareInvocation>(
      {.name = "compare",
       .summary = "say where runs differ: keys, results, the first losses and parameters",
       .examples = {"tpuest compare runs/a runs/b", "tpuest compare runs/a runs/b --json"},
       .takes = Takes::kPaths},
      Declare, Compare);
}

}  // namespace tpuest::cli
