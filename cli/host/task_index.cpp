#include "cli/host/task_index.h"

#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

struct Scheduler {
  std::string_view variable;
  int64_t first;  // the number of its first task
};

constexpr Scheduler kSchedulers[] = {
    {"SLURM_ARRAY_TASK_ID", 0},       {"JOB_COMPLETION_INDEX", 0}, {"PBS_ARRAY_INDEX", 0},
    {"AWS_BATCH_JOB_ARRAY_INDEX", 0}, {"SGE_TASK_ID", 1},          {"LSB_JOBINDEX", 1},
};

int64_t IndexFrom(const Scheduler& scheduler, const std::string& text) {
  const std::optional<int64_t> number = WholeNumber<int64_t>(text);
  if (!number || *number < scheduler.first) {
    throw Error(Code::kUsage,
                fmt::format("{} is '{}'; expected a whole number from {} on", scheduler.variable,
                            text, scheduler.first),
                "--index N names the trial");
  }
  return *number - scheduler.first;
}

}  // namespace

int64_t ArrayTaskIndex(const Lookup& environment) {
  std::vector<std::string> names;
  for (const Scheduler& scheduler : kSchedulers) {
    const std::string name(scheduler.variable);
    names.push_back(name);
    const std::optional<std::string> text = environment(name);
    // Outside an array Grid Engine says "undefined", LSF 0.
    const bool is_alone = text && scheduler.first == 1 && (*text == "undefined" || *text == "0");
    if (!text || text->empty() || is_alone) continue;
    return IndexFrom(scheduler, *text);
  }
  throw Error(
      Code::kUsage,
      fmt::format("--index auto: not a task of an array: none of {} is set", Join(names, ", ")),
      "--index N names the trial");
}

}  // namespace tpuest::cli
