#include "cli/prepare/migrate/input/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "cli/prepare/migrate/input/elements.h"

namespace tpuest::cli {
namespace {

bool StartsWithOneOf(std::string_view op, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return op.starts_with(beginning); });
}

// True for a dataset that reads the files: the datasets before it hold names of files.
bool ReadsFiles(const SeenNode& dataset) {
  return StartsWithOneOf(dataset.op, {"TFRecordDataset", "TextLineDataset", "FixedLengthRecord",
                                      "CSVDataset", "FlatMapDataset", "InterleaveDataset",
                                      "ParallelInterleave", "LegacyParallelInterleave"});
}

bool Batches(const SeenNode& dataset) {
  return StartsWithOneOf(dataset.op, {"BatchDataset", "ParallelBatchDataset"});
}

// True for a dataset that a job needs no key for, or that another part of the job has.
bool IsSaid(const SeenNode& dataset) {
  return Batches(dataset) ||
         StartsWithOneOf(dataset.op,
                         {"Prefetch", "Options", "Model", "Map", "ParallelMap", "ParseExample",
                          "TensorSlice", "Optimize", "AssertCardinality", "Unbatch", "MaxIntraOp",
                          "PrivateThreadPool", "Cache"});
}

std::optional<int64_t> NumberAt(const SeenGraph& graph, const SeenNode& node, size_t input) {
  const auto value = graph.ConstantAt(node, input);
  if (!value || value->elements() != 1) return std::nullopt;
  return static_cast<int64_t>(value->AsDouble(0));
}

bool ReadsLines(const SeenGraph& graph) {
  return !graph.Below("", "TextLineDataset").empty() ||
         std::any_of(graph.functions().begin(), graph.functions().end(),
                     [](const SeenFunction& function) {
                       return !function.body.Below("", "TextLineDataset").empty();
                     });
}

// Counts the inputs of an interleave from its cycle_length on, which follows what its function
// captures: cycle_length, block_length, and what its kind has besides them.
size_t InputsFromCycle(std::string_view op) {
  if (op.starts_with("Legacy")) return 4;  // buffers
  if (!op.starts_with("ParallelInterleave")) return 2;
  const bool has_calls = op.ends_with("V2") || op.ends_with("V3");  // num_parallel_calls
  return has_calls ? 3 : 5;                                         // buffers, and calls or sloppy
}

// Follows the datasets from the batch back to the files.
class OrderFinder {
 public:
  explicit OrderFinder(const SeenGraph& graph) : graph_(graph), reads_lines_(ReadsLines(graph)) {}

  MigratedOrder Find() {
    const std::vector<const SeenNode*> datasets = DatasetsOf(graph_);
    of_batches_ = std::any_of(datasets.begin(), datasets.end(),
                              [](const SeenNode* dataset) { return Batches(*dataset); });
    for (const SeenNode* const dataset : datasets) {
      if (ReadsFiles(*dataset)) {
        of_files_ = true;
        Interleave(*dataset);
      } else if (of_files_) {
        FilesDataset(*dataset);
      } else {
        RecordsDataset(*dataset);
      }
    }
    std::reverse(order_.stages.begin(), order_.stages.end());
    order_.is_known =
        !datasets.empty() && (of_files_ || datasets.back()->op == "TensorSliceDataset");
    return std::move(order_);
  }

 private:
  void Interleave(const SeenNode& dataset) {
    if (dataset.op.find("Interleave") == std::string::npos) return;
    const size_t inputs = InputsFromCycle(dataset.op);
    if (dataset.inputs.size() < inputs) return;
    const size_t first = dataset.inputs.size() - inputs;
    const std::optional<int64_t> cycle = NumberAt(graph_, dataset, first);
    const int64_t block = NumberAt(graph_, dataset, first + 1).value_or(1);
    if (cycle == 1) return;
    interleaves_ = true;
    const std::string block_text = block > 1 ? fmt::format(", block_length: {}", block) : "";
    if (!cycle || *cycle < 1) {  // -1 is tf.data.AUTOTUNE
      order_.unsaid.push_back(fmt::format(
          "how many files were interleaved: the graph leaves cycle_length to the machine; write "
          "stages: [{{interleave: {{cycle_length: N{}}}}}, ...] instead of shuffle and repeat",
          block_text));
      return;
    }
    order_.stages.push_back(
        {"interleave", fmt::format("{{cycle_length: {}{}}}", *cycle, block_text)});
    if (block > 1 && dataset.op.starts_with("Legacy")) {
      order_.unsaid.push_back(
          fmt::format("the turns after the end of a file: {} \"{}\" with a block_length above 1 "
                      "orders them differently",
                      dataset.op, dataset.name));
    }
  }

  // A dataset of names of files.
  void FilesDataset(const SeenNode& dataset) {
    const std::string which = fmt::format("{} \"{}\"", dataset.op, dataset.name);
    if (dataset.op.starts_with("Shuffle")) {
      if (NumberAt(graph_, dataset, 1) == 1) return;
      order_.unsaid.push_back(fmt::format(
          "{} read the files in a random order per pass; this job reads them in their order",
          which));
    } else if (dataset.op.starts_with("Repeat")) {
      if (!interleaves_) return Repeat(dataset);
      order_.unsaid.push_back(fmt::format(
          "{} repeated the files before they were interleaved; this job repeats the records",
          which));
    } else if (StartsWithOneOf(dataset.op, {"Shard", "Take", "Skip", "Filter"})) {
      order_.unsaid.push_back(
          fmt::format("which files were read: {} left some of the files out", which));
    }
  }

  // A dataset of records, or of batches.
  void RecordsDataset(const SeenNode& dataset) {
    if (Batches(dataset)) of_batches_ = false;
    if (dataset.op.starts_with("Shuffle")) return Shuffle(dataset);
    if (dataset.op.starts_with("Repeat")) return Repeat(dataset);
    if (reads_lines_ && dataset.op.starts_with("Skip")) return;
    if (!of_batches_ && Selects(dataset)) return;
    if (IsSaid(dataset)) return;
    order_.unsaid.push_back(
        fmt::format("the input_fn had a {} (\"{}\")", dataset.op, dataset.name));
  }

  void Repeat(const SeenNode& dataset) {
    const std::optional<int64_t> count = NumberAt(graph_, dataset, 1);
    order_.stages.push_back(
        {"repeat", fmt::format("{}", count && *count > 0 ? *count : int64_t{-1})});
  }

  void Shuffle(const SeenNode& dataset) {
    const std::optional<int64_t> size = NumberAt(graph_, dataset, 1);
    if (of_batches_) {
      order_.unsaid.push_back(
          fmt::format("batches were shuffled, not records ({} \"{}\")", dataset.op, dataset.name));
    } else if (size && *size > 0) {
      order_.stages.push_back({"shuffle", fmt::format("{}", *size)});
    } else {
      order_.unsaid.push_back(
          fmt::format("in which window {} \"{}\" shuffled records", dataset.op, dataset.name));
    }
  }

  // True for a take, skip or shard with constant numbers.
  bool Selects(const SeenNode& dataset) {
    const std::optional<int64_t> count = NumberAt(graph_, dataset, 1);
    if (!count) return false;
    if (dataset.op.starts_with("Take")) {
      if (*count >= 0) order_.stages.push_back({"take", fmt::format("{}", *count)});
      return true;  // -1 takes all
    }
    if (dataset.op.starts_with("Skip")) {
      if (*count < 0) return false;
      if (*count > 0) order_.stages.push_back({"skip", fmt::format("{}", *count)});
      return true;
    }
    const std::optional<int64_t> index = NumberAt(graph_, dataset, 2);
    if (!dataset.op.starts_with("Shard") || !index) return false;
    order_.stages.push_back(
        {"shard", fmt::format("{{num_shards: {}, index: {}}}", *count, *index)});
    return true;
  }

  const SeenGraph& graph_;
  bool reads_lines_;  // a skip leaves out their header, as the source of a job does
  MigratedOrder order_;
  bool of_batches_ = false;
  bool of_files_ = false;
  bool interleaves_ = false;
};

}  // namespace

bool MigratedOrder::IsPlain() const {
  size_t at = 0;
  for (const std::string_view key : {"shuffle", "repeat"}) {
    if (at < stages.size() && stages[at].key == key) ++at;
  }
  return at == stages.size();
}

MigratedOrder FindOrder(const SeenGraph& graph) { return OrderFinder(graph).Find(); }

}  // namespace tpuest::cli
