#include "cli/prepare/plan_report.h"

#include <algorithm>

#include "cli/run/process.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using Row = std::vector<std::string>;

std::string PlaceText(const Place& place) {
  return place.line == 0 ? "" : fmt::format("{}:{}", place.file, place.line);
}

Json JsonOfShape(const Shape& shape) {
  Json dims = Json::array();
  for (const int64_t dim : shape.dims()) dims.push_back(dim == kUnknownDim ? Json() : Json(dim));
  return dims;
}

Json JsonOfLayer(const LayerRow& layer) {
  Json json = {{"name", layer.name},
               {"type", layer.type},
               {"output_shape", JsonOfShape(layer.output)},
               {"parameters", layer.parameters},
               {"flops", layer.flops}};
  if (layer.place.line > 0) {
    json["file"] = layer.place.file;
    json["line"] = layer.place.line;
  }
  return json;
}

std::string StartText(const PlanReport& report) {
  if (!report.checkpoint.empty()) {
    return fmt::format("resumes from {}, step {}", report.checkpoint, WithCommas(report.start));
  }
  if (report.warm_start_from) {
    return fmt::format("new run, with variables of {}", *report.warm_start_from);
  }
  if (!report.model_dir) return "new run, in a temporary folder: the job has no model_dir";
  return fmt::format("new run: {} has no checkpoint", *report.model_dir);
}

std::string StepsText(const PlanReport& report) {
  if (!report.goal) return "until the input ends";
  if (*report.steps == 0) return "none: already at step " + WithCommas(report.start);
  std::string text =
      fmt::format("{}, from step {} to {} ({})", WithCommas(*report.steps),
                  WithCommas(report.start), WithCommas(*report.goal), report.goal_reason);
  if (report.epochs()) {
    text += fmt::format("; {:.2f} epochs of {} examples", *report.epochs(),
                        WithCommas(*report.epoch_size));
  }
  return text;
}

std::string BatchText(const PlanReport& report) {
  const std::string batch = WithCommas(report.batch_size);
  if (report.replicas == 1) return batch + " on one replica";
  return fmt::format("{}: {} on each of {} replicas", batch, WithCommas(report.batch_per_replica),
                     report.replicas);
}

// "8x32x32x3"
std::string ByText(const Shape& shape) {
  std::vector<std::string> dims;
  for (const int64_t dim : shape.dims()) {
    dims.push_back(dim == kUnknownDim ? "?" : std::to_string(dim));
  }
  return Join(dims, "x");
}

// "image 8x321x32x3 in pieces 8x161x32x3, 8x160x32x3": only one piece if all are alike.
std::string SharedText(const SharedInput& input) {
  const bool alike = std::all_of(input.pieces.begin(), input.pieces.end(),
                                 [&](const Shape& piece) { return piece == input.pieces.front(); });
  std::vector<std::string> pieces;
  for (const Shape& piece : input.pieces) pieces.push_back(ByText(piece));
  if (alike) pieces.resize(1);
  return fmt::format("{} {} split into {}", input.name, ByText(input.shape), Join(pieces, ", "));
}

std::string CoresText(const PlanReport& report) {
  std::string text = fmt::format("{} a replica", report.cores);
  for (const SharedInput& input : report.shared) text += ", " + SharedText(input);
  if (report.core_bytes) {
    text += fmt::format("; {} of inputs and layers on each core, and all variables",
                        BytesText(*report.core_bytes));
  }
  return text;
}

Json JsonOfShared(const SharedInput& input) {
  Json json = {{"name", input.name},
               {"shape", JsonOfShape(input.shape)},
               {"dims", input.dims},
               {"pieces", Json::array()}};
  for (const Shape& piece : input.pieces) json["pieces"].push_back(JsonOfShape(piece));
  return json;
}

std::string ShareText(const ReplicaRange& share, int replicas) {
  if (share.count == 1) return fmt::format("replica {} of {}", share.first, replicas);
  return fmt::format("replicas {} to {} of {}", share.first, share.end() - 1, replicas);
}

std::string ProcessText(const PlanReport& report) {
  std::vector<std::string> texts = {hosts::PlaceText(report.process)};
  if (report.share) texts.push_back(ShareText(*report.share, report.replicas));
  const std::string coordinator = hosts::CoordinatorText(report.process);
  if (!coordinator.empty()) texts.push_back(coordinator);
  return Join(texts, ", ");
}

std::string FlopsText(const PlanReport& report) {
  const auto flops = static_cast<double>(report.model.flops);
  if (report.replicas == 1) return CountText(flops) + " a step";
  return fmt::format("{} per step on each replica, {} on all", CountText(flops),
                     CountText(flops * report.replicas));
}

std::string LayersText(const std::vector<LayerRow>& layers) {
  if (layers.empty()) return "";
  std::vector<Row> rows = {{"layer", "output", "parameters", "FLOPs forward", "job"}};
  for (const LayerRow& layer : layers) {
    rows.push_back({layer.name, layer.output.Text(), WithCommas(layer.parameters),
                    CountText(static_cast<double>(layer.flops)), PlaceText(layer.place)});
  }
  return "\n" + TableText({false, false, true, true, false}, rows);
}

Json JsonOfTable(const TableRow& table, int replicas) {
  Json json = {{"name", table.name},
               {"rows", table.rows},
               {"dimension", table.width},
               {"slots", table.slots},
               {"row_bytes", table.row_bytes},
               {"bytes", table.bytes},
               {"layout", table.layout == RowLayout::kArray ? "array" : "index"},
               {"shared_in_groups", table.is_shared},
               {"rows_a_step", OrNull(table.rows_a_step)}};
  if (table.rows_a_step) {
    json["rows_a_step"] = *table.rows_a_step * replicas;
    json["bytes_a_step"] = 2 * *table.rows_a_step * replicas * table.row_bytes;
  }
  return json;
}

std::string RowRulesText(const std::optional<RowRules>& rules) {
  if (!rules) return "";
  std::vector<std::string> parts;
  if (rules->admit_after > 1) {
    parts.push_back(fmt::format("trained from use number {}", WithCommas(rules->admit_after)));
  }
  if (rules->evict_after_steps) {
    parts.push_back(
        fmt::format("evicted after {} steps without use", WithCommas(*rules->evict_after_steps)));
  }
  return fmt::format("rows: {}; decided every {} steps\n", Join(parts, ", "),
                     WithCommas(rules->decides_every));
}

// Returns the table of embedding tables; a process holds all rows of an array, and the materialized
// rows of an index.
std::string TablesText(const PlanReport& report) {
  if (report.model.tables.empty()) return "";
  std::vector<Row> rows = {
      {"table", "rows", "numbers", "bytes per row", "all rows", "held", "a step moves"}};
  int64_t bytes = 0;
  for (const TableRow& table : report.model.tables) {
    const bool is_array = table.layout == RowLayout::kArray;
    bytes += table.bytes;
    std::string moves = "lists tell";
    if (table.rows_a_step) {
      const int64_t moved = *table.rows_a_step * report.replicas;
      moves = fmt::format("{} rows, {}", WithCommas(moved), BytesText(2 * moved * table.row_bytes));
    }
    rows.push_back(
        {table.name, WithCommas(table.rows),
         fmt::format("{} and {} slots", table.width, table.slots), WithCommas(table.row_bytes),
         BytesText(table.bytes),
         fmt::format("{}{}", is_array ? "array: all rows" : "index: only materialized rows",
                     table.is_shared ? ", divided over a group's processes" : ""),
         moves});
  }
  std::string text = "\n" + TableText({false, true, false, true, true, false, false}, rows);
  text += fmt::format("tables: {} with all rows", BytesText(bytes));
  if (report.most_of_tables) {
    text += fmt::format(", at most {} in memory (tpuest.embeddings.max_resident_bytes)",
                        BytesText(*report.most_of_tables));
  }
  return text + "\n" + RowRulesText(report.row_rules);
}

std::string WarmStartText(const std::vector<WarmStartRow>& started) {
  if (started.empty()) return "";
  std::vector<Row> rows = {{"variable", "shape", "warm start"}};
  for (const WarmStartRow& row : started) {
    rows.push_back({row.variable, row.shape.Text(), row.outcome});
  }
  return "\n" + TableText({false, false, false}, rows);
}

Json LoopJson(const std::optional<IterationsPerLoop>& value) {
  return value ? std::visit([](const auto& given) { return Json(given); }, *value) : Json();
}

std::string LoopText(const std::optional<IterationsPerLoop>& value) {
  if (!value) return "none: the host polls after each step (use_tpu: false)";
  const auto* const count = std::get_if<int64_t>(&*value);
  return count != nullptr ? fmt::format("{} steps (iterations_per_loop)", WithCommas(*count))
                          : fmt::format("{} (iterations_per_loop)", std::get<std::string>(*value));
}

}  // namespace

std::optional<double> PlanReport::epochs() const {
  if (!steps || !epoch_size || *epoch_size == 0) return std::nullopt;
  return static_cast<double>(*steps) * static_cast<double>(batch_size) /
         static_cast<double>(*epoch_size);
}

Json JsonOfPlan(const PlanReport& report) {
  const ModelCost& model = report.model;
  Json json = {{"global_step", report.start},
               {"checkpoint", report.checkpoint.empty() ? Json() : Json(report.checkpoint)},
               {"goal", OrNull(report.goal)},
               {"goal_reason", report.goal_reason},
               {"steps", OrNull(report.steps)},
               {"epoch_size", OrNull(report.epoch_size)},
               {"epochs", OrNull(report.epochs())},
               {"replicas", report.replicas},
               {"batch_size", report.batch_size},
               {"batch_per_replica", report.batch_per_replica},
               {"iterations_per_loop", LoopJson(report.iterations_per_loop)},
               {"parameters", model.parameters},
               {"parameter_bytes", model.parameter_bytes},
               {"bytes", model.bytes},
               {"kernels", report.kernels.empty() ? Json() : Json(report.kernels)},
               {"cpu_bytes", OrNull(report.cpu_bytes)},
               {"flops_per_replica", model.flops},
               {"flops", model.flops * report.replicas}};
  for (const EpochCount& count : report.counts) {
    json["counts"].push_back(
        {{"key", count.key}, {"written", count.written}, {"steps", count.steps}});
  }
  json["process"] = ProcessJson(report.process);
  if (!report.process.coordinator.empty()) {
    json["process"]["coordinator"] = report.process.coordinator;
  }
  if (report.keeping_bytes) json["cpu_bytes_without_remat"] = *report.keeping_bytes;
  if (report.share) {
    json["process"]["first_replica"] = report.share->first;
    json["process"]["replicas"] = report.share->count;
    json["process"]["reads_all"] = report.reads_all;
  }
  if (report.cores > 1) {
    json["cores_per_replica"] = report.cores;
    json["core_bytes"] = OrNull(report.core_bytes);
    json["partitions"] = Json::array();
    for (const SharedInput& input : report.shared) {
      json["partitions"].push_back(JsonOfShared(input));
    }
  }
  json["layers"] = Json::array();
  for (const LayerRow& layer : model.layers) json["layers"].push_back(JsonOfLayer(layer));
  if (report.row_rules) {
    json["row_rules"] = {{"admit_after", report.row_rules->admit_after},
                         {"evict_after_steps", OrNull(report.row_rules->evict_after_steps)},
                         {"decides_every", report.row_rules->decides_every}};
  }
  for (const TableRow& table : model.tables) {
    json["tables"].push_back(JsonOfTable(table, report.replicas));
  }
  if (!report.warm_start.empty()) json["warm_start"] = Json::array();
  for (const WarmStartRow& row : report.warm_start) {
    json["warm_start"].push_back(
        {{"variable", row.variable}, {"shape", JsonOfShape(row.shape)}, {"outcome", row.outcome}});
  }
  return json;
}

std::string PlanText(const PlanReport& report) {
  const ModelCost& model = report.model;
  std::vector<Row> lines = {
      {"start", StartText(report)},
      {"steps", StepsText(report)},
      {"batch", BatchText(report)},
      {"loop", LoopText(report.iterations_per_loop)},
      {"parameters",
       fmt::format("{}: {}", WithCommas(model.parameters), BytesText(model.parameter_bytes))},
      {"variables", fmt::format("{}, with slots and averages", BytesText(model.bytes))},
      {"FLOPs", FlopsText(report)},
  };
  for (const EpochCount& count : report.counts) {
    lines.push_back({"epochs", count.Text()});
  }
  if (report.cores > 1) lines.push_back({"cores", CoresText(report)});
  if (!report.process.launcher.empty()) lines.push_back({"process", ProcessText(report)});
  if (report.reads_all) {
    lines.push_back({"input",
                     "compressed: each process decompresses all of it and parses only its own "
                     "rows; from plain files it would read only its rows"});
  }
  if (!report.kernels.empty()) lines.push_back({"kernels", report.kernels});
  if (report.cpu_bytes) {
    const std::string bytes = BytesText(*report.cpu_bytes);
    const std::string without = report.keeping_bytes ? fmt::format("; {} without tpuest.remat",
                                                                   BytesText(*report.keeping_bytes))
                                                     : "";
    lines.push_back({"memory", bytes + " on the CPU engine, besides the variables" + without});
  }
  return report.job + "\n" + TableText({false, false}, lines) + LayersText(model.layers) +
         TablesText(report) + WarmStartText(report.warm_start);
}

}  // namespace tpuest::cli
