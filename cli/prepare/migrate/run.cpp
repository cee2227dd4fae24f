#include "cli/prepare/migrate/run.h"

#include <algorithm>
#include <map>

#include "cli/prepare/migrate/elements.h"
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

bool StartsWithOneOf(std::string_view op, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return op.starts_with(beginning); });
}

// A dataset that gives the files' records: what stands before it shuffles names of files.
bool ReadsFiles(const SeenNode& dataset) {
  return StartsWithOneOf(
      dataset.op, {"TFRecordDataset", "TextLineDataset", "FixedLengthRecord", "FlatMapDataset",
                   "InterleaveDataset", "ParallelInterleave", "LegacyParallelInterleave"});
}

// What a job needs no word for, or has another for.
bool IsSaid(const SeenNode& dataset) {
  return StartsWithOneOf(
      dataset.op, {"Repeat", "Batch", "ParallelBatch", "Prefetch", "Options", "Model", "Map",
                   "ParallelMap", "ParseExample", "Skip", "TensorSlice", "Optimize",
                   "AssertCardinality", "Unbatch", "MaxIntraOp", "PrivateThreadPool", "Cache"});
}

// How many inputs a dataset of files in turns has from its cycle_length on, which stands after what
// its function takes along: cycle_length, block_length, and what its kind has beside them.
size_t InputsOfTurns(std::string_view op) {
  if (op.find("Legacy") != std::string_view::npos) return 4;  // buffers
  if (!StartsWithOneOf(op, {"ParallelInterleave"})) return 2;
  const bool has_calls = op.ends_with("V2") || op.ends_with("V3");  // num_parallel_calls
  return has_calls ? 3 : 5;                                         // buffers, and calls or sloppy
}

// Says that files were read in turns: the stage, since how many there are may have changed.
void FindInterleave(const SeenGraph& graph, const SeenNode& dataset, MigratedRun& run) {
  if (dataset.op.find("Interleave") == std::string::npos) return;
  const size_t behind = InputsOfTurns(dataset.op);
  const auto number = [&](size_t place) -> std::optional<int64_t> {
    if (dataset.inputs.size() < behind) return std::nullopt;
    const auto value = graph.ConstantAt(dataset, dataset.inputs.size() - behind + place);
    if (!value || value->elements() != 1) return std::nullopt;
    return static_cast<int64_t>(value->AsDouble(0));
  };
  const auto cycle = number(0);
  if (cycle == 1) return;
  // -1 is tf.data.AUTOTUNE.
  const std::string files = cycle && *cycle > 1 ? fmt::format("{}", *cycle) : "?";
  const auto block = number(1);
  const std::string records =
      block && *block > 1 ? fmt::format(", block_length: {}", *block) : std::string();
  run.unsaid.push_back(
      fmt::format("files were interleaved: stages: [{{interleave: {{cycle_length: {}{}}}}}, ...]",
                  files, records));
}

// Follows the datasets from the iterator back to the files.
void FindDatasets(const SeenGraph& graph, MigratedRun& run) {
  const std::vector<const SeenNode*> datasets = DatasetsOf(graph);
  bool of_rows = true;  // false: what shuffles, skips or takes does so with names of files
  bool is_batched = std::any_of(datasets.begin(), datasets.end(), [](const SeenNode* dataset) {
    return StartsWithOneOf(dataset->op, {"BatchDataset", "ParallelBatchDataset"});
  });
  for (const SeenNode* const dataset : datasets) {
    if (ReadsFiles(*dataset)) {
      of_rows = false;
      FindInterleave(graph, *dataset, run);
      continue;
    }
    if (!of_rows) continue;
    if (StartsWithOneOf(dataset->op, {"BatchDataset", "ParallelBatchDataset"})) is_batched = false;
    if (StartsWithOneOf(dataset->op, {"Shuffle"})) {
      const auto size = graph.ConstantAt(*dataset, 1);
      const bool is_known = size && size->elements() == 1 && size->AsDouble(0) > 0;
      if (is_batched) {
        run.unsaid.push_back(fmt::format("batches were shuffled, not records ({} \"{}\")",
                                         dataset->op, dataset->name));
      } else if (is_known && !run.shuffle) {
        run.shuffle = static_cast<int64_t>(size->AsDouble(0));
      } else {
        run.unsaid.push_back(
            fmt::format("records were shuffled by {} \"{}\" as well", dataset->op, dataset->name));
      }
      continue;
    }
    if (IsSaid(*dataset)) continue;
    run.unsaid.push_back(fmt::format("the input_fn had a {} (\"{}\")", dataset->op, dataset->name));
  }
  run.datasets_known =
      !datasets.empty() && (!of_rows || datasets.back()->op == "TensorSliceDataset");
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
  FindDatasets(graph, run);
  // The replicas whose gradients are summed stand there as a matrix of groups.
  for (const SeenNode* const sum : graph.Below("", "CrossReplicaSum")) {
    const auto groups = graph.ConstantAt(*sum, 1);
    if (groups) run.replicas = std::max<int64_t>(1, groups->elements());
    if (groups) break;
  }
  run.parser = FindParser(graph);
  if (!run.parser && !features.empty()) run.lines = FindCsvLines(graph, features);
  if (run.parser) run.files = FindFiles(graph, "TFRecordDataset");
  if (run.lines) run.files = FindFiles(graph, "TextLineDataset");
  ReadEventsOf(model_dir, run);
  return run;
}

}  // namespace tpuest::cli
