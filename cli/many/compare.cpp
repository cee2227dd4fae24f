// tpuest compare RUN RUN... [--baseline RUN] [--fail-if-worse METRIC] [--folds]

#include <algorithm>
#include <cmath>

#include "cli/many/commands.h"
#include "cli/many/compare_report.h"
#include "cli/run/record/folds.h"
#include "cli/shell/json.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

struct CompareInvocation : Invocation {
  bool folds = false;
  std::optional<std::string> baseline;
  std::vector<std::string> fail_if_worse;
};

void Declare(FlagSet& flags, CompareInvocation& to) {
  flags.Switch("--folds", to.folds,
               "treat the runs (or all runs of one folder) as folds of one job: mean and spread of "
               "each metric");
  flags.Text("--baseline", to.baseline, "RUN",
             "compare each result with this run's: better or worse");
  flags.Repeated(
      "--fail-if-worse", to.fail_if_worse, "METRIC",
      "exit with code 8 if this metric of a run is worse than the baseline's; may be repeated");
}

// The gates that a run does not meet, as sentences.
std::vector<std::string> WorseThanBaseline(const CompareReport& report,
                                           const std::vector<std::string>& metrics) {
  std::vector<std::string> worse;
  for (const std::string& metric : metrics) {
    for (size_t i = 1; i < report.runs.size(); ++i) {
      const std::vector<BaselineChange> changes = ChangesFrom(report.runs[0], report.runs[i]);
      const auto found =
          std::find_if(changes.begin(), changes.end(),
                       [&](const BaselineChange& change) { return change.metric == metric; });
      if (found == changes.end() || !found->worse) {
        std::vector<std::string> names;
        for (const BaselineChange& change : changes) {
          if (change.worse) names.push_back(change.metric);
        }
        throw Error(Code::kUsage,
                    fmt::format("--fail-if-worse {}: {} and {} do not share a result of this name "
                                "whose better direction is known",
                                metric, report.runs[0].path, report.runs[i].path),
                    "results: " + Join(names, ", "));
      }
      if (*found->worse) {
        worse.push_back(fmt::format("{}: {} is worse than {}'s by {}", report.runs[i].path, metric,
                                    report.runs[0].path, NumberText(std::abs(found->difference))));
      }
    }
  }
  return worse;
}

int CompareFolds(const CompareInvocation& invocation, config::Sources& sources) {
  std::vector<ComparedRun> runs;
  for (const std::string& folder : invocation.arguments) {
    for (const std::string& path : RunsBelow(folder)) runs.push_back(ReadRun(path, sources));
  }
  if (runs.empty()) {
    throw Error(Code::kUsage, "compare --folds takes the runs of the folds, or their folder",
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
  std::vector<std::string> paths = invocation.arguments;
  if (invocation.baseline) {
    std::erase(paths, *invocation.baseline);  // it may be among the runs
    paths.insert(paths.begin(), *invocation.baseline);
  }
  if (!invocation.baseline && !invocation.fail_if_worse.empty()) {
    throw Error(Code::kUsage, "--fail-if-worse needs a baseline", "--baseline RUN");
  }
  if (paths.size() < 2) {
    throw Error(Code::kUsage, "compare takes two runs or more", "tpuest compare runs/a runs/b");
  }
  CompareReport report;
  report.has_baseline = invocation.baseline.has_value();
  for (const std::string& path : paths) {
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
  const std::vector<std::string> worse = WorseThanBaseline(report, invocation.fail_if_worse);
  for (const std::string& line : worse) fmt::print(stderr, "gate not met: {}\n", line);
  return worse.empty() ? 0 : static_cast<int>(Code::kGate);
}

}  // namespace

Command CompareCommand() {
  return MakeCommand<CompareInvocation>(
      {.name = "compare",
       .summary = "show where runs differ: keys, results, the first losses and parameters",
       .examples = {"tpuest compare runs/a runs/b", "tpuest compare --baseline runs/a runs/b"},
       .takes = Takes::kPaths},
      Declare, Compare);
}

}  // namespace tpuest::cli
