#include "cli/prepare/migrate/input/run.h"

#include <algorithm>
#include <map>

#include "cli/prepare/migrate/input/elements.h"
#include "core/base/text.h"
#include "core/io/events/event_reader.h"

namespace tpuest::cli {
namespace {

// The distance between steps that occurs most often; nullopt for fewer than two steps.
std::optional<int64_t> PeriodOf(const std::vector<int64_t>& steps) {
  std::map<int64_t, int> counts;
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] > steps[i - 1]) ++counts[steps[i] - steps[i - 1]];
  }
  std::optional<int64_t> period;
  for (const auto& [distance, count] : counts) {
    if (!period || count > counts[*period]) period = distance;
  }
  return period;
}

void ReadEventsOf(const std::string& model_dir, MigratedRun& run) {
  std::vector<int64_t> saves;
  std::vector<int64_t> losses;
  std::vector<int64_t> rates;
  for (const std::string& file : EventFiles(model_dir)) {
    EventReader reader(file);
    EventData event;
    while (reader.Next(event)) {
      if (event.session_log.status == SessionLogData::Status::kCheckpoint) {
        saves.push_back(event.step);
      }
      for (const SummaryValue& value : event.values) {
        if (value.tag == "loss") losses.push_back(event.step);
        if (value.tag == "global_step/sec") rates.push_back(event.step);
      }
    }
  }
  run.save_steps = PeriodOf(saves);
  run.summary_steps = PeriodOf(losses);
  run.log_steps = PeriodOf(rates);
}

// The number at an input of the first dataset of this kind.
std::optional<int64_t> DatasetNumber(const SeenGraph& graph, const std::string& op, size_t input) {
  for (const SeenNode* const node : graph.Below("", op)) {
    const auto value = graph.ConstantAt(*node, input);
    if (value && value->elements() == 1 && value->AsDouble(0) > 0) {
      return static_cast<int64_t>(value->AsDouble(0));
    }
  }
  return std::nullopt;
}

}  // namespace

MigratedRun FindRun(const SeenGraph& graph, const BundleReader& variables,
                    const std::string& model_dir, const std::set<std::string>& features) {
  MigratedRun run{.model_dir = model_dir, .name = BaseName(model_dir)};
  if (run.name.empty() || run.name == ".") run.name = "migrated";
  if (variables.Has("global_step")) {
    run.global_step = static_cast<int64_t>(variables.Read("global_step").AsDouble(0));
  }
  run.batch_size = DatasetNumber(graph, "BatchDatasetV2", 1);
  if (!run.batch_size) run.batch_size = DatasetNumber(graph, "ParallelBatchDataset", 1);
  run.elements = IteratorFeatures(graph);
  // The replicas whose gradients are summed stand there as a matrix of groups.
  for (const SeenNode* const sum : graph.Below("", "CrossReplicaSum")) {
    const auto groups = graph.ConstantAt(*sum, 1);
    if (groups) run.replicas = std::max<int64_t>(1, groups->elements());
    if (groups) break;
  }
  run.parser = FindParser(graph);
  if (!run.parser && !features.empty()) run.lines = FindCsvLines(graph, features);
  run.order = FindOrder(graph);
  if (run.parser) run.files = FindFiles(graph, "TFRecordDataset");
  if (run.lines) run.files = FindFiles(graph, "TextLineDataset");
  if (run.lines && run.files.empty()) run.files = FindFiles(graph, "CSVDataset");
  ReadEventsOf(model_dir, run);
  return run;
}

}  // namespace tpuest::cli
