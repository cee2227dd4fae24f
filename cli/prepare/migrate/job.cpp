#include "cli/prepare/migrate/job.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/prepare/migrate/elements.h"
#include "config/scalars.h"
#include "core/base/process/files.h"
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
      fmt::format("files were read in turns: stages: [{{interleave: {{cycle_length: {}{}}}}}, ...]",
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

class JobWriter {
 public:
  JobWriter(const MigratedRun& run, const MigratedModel& model, const MigratedColumns& columns)
      : run_(run), model_(model), columns_(columns) {}

  MigratedJob Run() {
    Line(fmt::format(
        "# Goes on with {} at step {}. What could not be found out there is marked ???.",
        run_.model_dir, run_.global_step));
    Line("version: 1");
    Line("name: " + config::StringText(run_.name));
    Line("mode: train");
    Line(run_.replicas > 1 ? "use_tpu: true" : "use_tpu: false");
    Known(run_.batch_size, "train_batch_size: {}", 32, "the batch size", "");
    RunConfigSection();
    InputSection();
    ColumnsSection();
    ModelSection();
    Line("");
    Unknown("how far to train", "");
    Line(fmt::format("train_spec: {{input_fn: train, max_steps: {}}}", run_.global_step + 1000));
    return std::move(job_);
  }

 private:
  void Line(const std::string& text) { job_.text += text + "\n"; }
  void Unknown(const std::string& what, const std::string& indent) {
    job_.unknown.push_back(what);
    Line(fmt::format("{}# ??? {}", indent, what));
  }
  // Adds the line with the number, or with what stands in for it.
  void Known(const std::optional<int64_t>& number, const char* line, int64_t otherwise,
             const std::string& what, const std::string& indent) {
    if (!number) Unknown(what, indent);
    Line(indent + fmt::format(fmt::runtime(line), number.value_or(otherwise)));
  }

  void RunConfigSection() {
    Line("");
    Line("run_config:");
    Line("  model_dir: " + config::StringText(run_.model_dir));
    Known(run_.save_steps, "save_checkpoints_steps: {}", 1000, "how often it saved", "  ");
    if (run_.summary_steps) Line(fmt::format("  save_summary_steps: {}", *run_.summary_steps));
    if (run_.log_steps) Line(fmt::format("  log_step_count_steps: {}", *run_.log_steps));
    if (run_.replicas > 1) Line(fmt::format("  tpu_config: {{num_shards: {}}}", run_.replicas));
  }

  [[nodiscard]] static std::string ListText(const std::vector<int64_t>& values) {
    std::vector<std::string> words;
    for (const int64_t value : values) words.push_back(fmt::format("{}", value));
    return "[" + Join(words, ", ") + "]";
  }

  // A scale as YAML: "1/255" where it is such a fraction.
  [[nodiscard]] static std::string ScaleText(double scale) {
    const double below = std::round(1 / scale);
    const bool is_fraction =
        below > 1 && static_cast<float>(1 / below) == static_cast<float>(scale);
    return is_fraction ? fmt::format("1/{}", static_cast<int64_t>(below))
                       : NumberText(static_cast<float>(scale));
  }

  // The names of the records' features that no column reads, but for the label.
  [[nodiscard]] std::vector<std::string> Unread() const {
    std::vector<std::string> names;
    if (!run_.parser) return names;
    for (const ParsedFeature& feature : run_.parser->features) {
      const bool is_read = columns_.features.contains(feature.name);
      const bool weighs = model_.weight == feature.name;
      if (!is_read && !weighs && feature.name != label_) names.push_back(feature.name);
    }
    return names;
  }

  // The label is what the parser's function returns last, or the one feature that no column reads.
  void FindLabel() {
    if (!run_.parser) return;
    const std::vector<std::string> unread = Unread();
    const std::string last = run_.elements.empty() ? "" : run_.elements.back();
    if (!last.empty() && !columns_.features.contains(last)) {
      label_ = last;
    } else if (unread.size() == 1) {
      label_ = unread[0];
    }
    parsed_label_ = run_.parser->Find(label_);
    if (parsed_label_ != nullptr) stored_label_ = parsed_label_->dtype;
    const std::vector<std::string> others = Unread();
    if (parsed_label_ != nullptr && model_.input && others.size() == 1) {
      parsed_input_ = run_.parser->Find(others[0]);
      input_ = others[0];
    }
  }

  // Bytes are in the records as a string.
  void InputFeature(const MigratedInput& input) {
    if (parsed_input_ != nullptr) {
      return Line(
          fmt::format("      {}: {}", config::StringText(input_), FeatureText(*parsed_input_)));
    }
    Unknown(input.shape_known ? "the feature's name in the records"
                              : "the feature's name and shape in the records",
            "      ");
    const std::string shape = input.dtype == "uint8" ? "[]" : ListText(input.shape);
    const std::string dtype = input.dtype == "uint8"     ? "string"
                              : input.dtype == "float32" ? "float32"
                                                         : "int64";
    Line(fmt::format("      x: {{type: FixedLenFeature, shape: {}, dtype: {}}}", shape, dtype));
  }

  // What makes the model's input of the record's feature.
  void InputSteps(const MigratedInput& input, std::vector<std::string>& steps) {
    const std::string name = config::StringText(input_);
    const std::string stored = parsed_input_ == nullptr ? input.dtype : parsed_input_->dtype;
    if (input.dtype == "uint8") {
      steps.push_back(fmt::format("{{op: decode_raw, in: {}, out_type: uint8, shape: {}}}", name,
                                  ListText(input.shape)));
    }
    const bool casts = input.dtype == "uint8" || (stored != "float32" && stored != "string");
    if (casts) steps.push_back(fmt::format("{{op: cast, in: {}, dtype: float32}}", name));
    if (input.scale != 1 || input.offset != 0) {
      const auto offset = static_cast<float>(input.offset);
      steps.push_back(fmt::format("{{op: rescaling, in: {}, scale: {}{}}}", name,
                                  ScaleText(input.scale),
                                  offset == 0 ? "" : ", offset: " + NumberText(offset)));
    }
  }

  // What makes the label of the record's feature: classes are int64, but on TPUs, other numbers
  // float32.
  void LabelSteps(std::vector<std::string>& steps) const {
    std::string dtype = model_.labels_are_words     ? "string"
                        : model_.labels_are_classes ? "int64"
                                                    : "float32";
    const std::string stored = stored_label_.empty() ? dtype : stored_label_;
    if (run_.replicas > 1 && dtype == "int64") dtype = "int32";
    if (stored == dtype || stored == "string") return;
    steps.push_back(
        fmt::format("{{op: cast, in: {}, dtype: {}}}", config::StringText(label_), dtype));
  }

  // Adds the map from the records' features to the model's inputs.
  void MapLines() {
    std::vector<std::string> steps;
    if (model_.input) InputSteps(*model_.input, steps);
    if (model_.input || !stored_label_.empty()) LabelSteps(steps);
    if (steps.empty()) return;
    Line("    map:");
    for (const std::string& step : steps) Line("      - " + step);
  }

  void ColumnFeature(const std::string& name, const MigratedFeature& feature) {
    const ParsedFeature* const parsed = run_.parser ? run_.parser->Find(name) : nullptr;
    const std::string key = config::StringText(name);
    if (parsed != nullptr) return Line(fmt::format("      {}: {}", key, FeatureText(*parsed)));
    if (run_.parser) {
      std::vector<std::string> names;
      for (const ParsedFeature& stored : run_.parser->features) names.push_back(stored.name);
      Unknown(fmt::format("what '{}' is made of: the records have {}", name, Join(names, ", ")),
              "      ");
    }
    Line(fmt::format("      {}: {{type: FixedLenFeature, shape: [{}], dtype: {}}}", key,
                     feature.size == 1 ? "" : fmt::format("{}", feature.size), feature.dtype));
  }

  void LabelFeature() {
    if (parsed_label_ != nullptr) {
      return Line(
          fmt::format("      {}: {}", config::StringText(label_), FeatureText(*parsed_label_)));
    }
    const std::string dtype = model_.labels_are_words     ? "string"
                              : model_.labels_are_classes ? "int64"
                                                          : "float32";
    Unknown("the label's name in the records: 'tpuest inspect' of one of the files lists them",
            "      ");
    Line(fmt::format("      label: {{type: FixedLenFeature, shape: [{}], dtype: {}}}",
                     model_.label_dimension == 1 ? "" : fmt::format("{}", model_.label_dimension),
                     dtype));
  }

  void FeatureLines() {
    if (model_.input) InputFeature(*model_.input);
    for (const auto& [name, feature] : columns_.features) ColumnFeature(name, feature);
    if (model_.weight && !columns_.features.contains(*model_.weight)) {
      ColumnFeature(*model_.weight, MigratedFeature());
    }
    if (model_.takes_any_feature) {
      Unknown("a feature of the records, any: a baseline counts examples by it", "      ");
      Line("      x: {type: FixedLenFeature, shape: [], dtype: float32}");
    }
    LabelFeature();
  }

  // The files as the graph names them, which may have been moved since.
  [[nodiscard]] std::string FilesText(const std::string& what, const std::string& indent) {
    std::vector<std::string> words;
    for (const std::string& file : run_.files) words.push_back(config::StringText(file));
    const bool all_there = std::all_of(run_.files.begin(), run_.files.end(), FileExists);
    if (!all_there) {
      Unknown(fmt::format("where the {} are now: these are the names that they had", what), indent);
    }
    return "[" + Join(words, ", ") + "]";
  }

  void SourceLine() {
    if (run_.files.empty()) {
      Unknown("where the records are: 'tpuest convert --csv' writes TFRecords", "    ");
      return Line("    source: {type: TFRecordDataset, filenames: [train.tfrecord]}");
    }
    const std::string files = FilesText("records", "    ");
    Line(fmt::format("    source: {{type: TFRecordDataset, filenames: {}}}", files));
  }

  void RecordInput() {
    FindLabel();
    SourceLine();
    Line("    parse_example:");
    FeatureLines();
    MapLines();
    Line("    labels: " + config::StringText(label_));
  }

  // The columns of a CSV file under the names that the feature columns have for them.
  void CsvInput(const CsvLines& lines) {
    std::vector<std::string> names;
    std::vector<std::string> selected;
    std::vector<std::string> defaults;
    const auto has = [&](const std::string& name) {
      return std::any_of(lines.columns.begin(), lines.columns.end(),
                         [&](const CsvLineColumn& column) { return column.name == name; });
    };
    for (size_t i = 0; i < lines.columns.size(); ++i) {
      const CsvLineColumn& column = lines.columns[i];
      const bool is_label = lines.label == i;
      std::string name = column.name;
      if (name.empty()) name = is_label ? "label" : fmt::format("column_{}", i);
      while (column.name.empty() && has(name)) name += "_";
      names.push_back(config::StringText(name));
      if (column.name.empty() && !is_label) continue;
      if (is_label) label_ = name;
      if (is_label) stored_label_ = column.dtype;
      selected.push_back(names.back());
      defaults.push_back(column.default_value.empty()
                             ? column.dtype
                             : fmt::format("{{dtype: {}, default_value: {}}}", column.dtype,
                                           column.default_value));
    }
    Line("    source:");
    Line("      type: make_csv_dataset");
    CsvFiles();
    Line(fmt::format("      column_names: [{}]", Join(names, ", ")));
    if (selected.size() < names.size()) {
      Line(fmt::format("      select_columns: [{}]", Join(selected, ", ")));
    }
    Line("      column_defaults:");
    for (const std::string& text : defaults) Line("        - " + text);
    if (!lines.label) Unknown("which column is the label", "      ");
    if (!lines.label_op.empty()) {
      Unknown(fmt::format("what {} makes of the column is the label", lines.label_op), "      ");
    }
    Line("      label_name: " + config::StringText(label_));
    CsvFormat(lines);
    MapLines();
  }

  void CsvFiles() {
    if (!run_.files.empty()) {
      const std::string files = FilesText("lines", "      ");
      return Line("      file_pattern: " + files);
    }
    Unknown("where the lines are", "      ");
    Line("      file_pattern: [train.csv]");
  }

  void CsvFormat(const CsvLines& lines) {
    if (lines.field_delim != ",") {
      Line("      field_delim: " + config::QuotedText(lines.field_delim));
    }
    if (!lines.use_quote_delim) Line("      use_quote_delim: false");
    if (!lines.na_value.empty()) Line("      na_value: " + config::QuotedText(lines.na_value));
    if (lines.skip == 0) Line("      header: false");
    if (lines.skip > 1) Unknown("which line is the header", "      ");
  }

  void InputSection() {
    Line("");
    Line("input_fns:");
    Line("  train:");
    if (run_.lines) {
      CsvInput(*run_.lines);
    } else {
      RecordInput();
    }
    for (const std::string& what : run_.unsaid) Unknown(what, "    ");
    if (run_.shuffle) {
      Line(fmt::format("    shuffle: {{buffer_size: {}}}", *run_.shuffle));
    } else if (!run_.datasets_known) {
      Unknown("how the records were shuffled", "    ");
      Line("    shuffle: {buffer_size: full}");
    }
    Line("    repeat: -1");
  }

  void ColumnsSection() {
    if (columns_.columns.empty()) return;
    Line("");
    Line("feature_columns:");
    for (const std::string& what : columns_.unknown) Unknown(what, "  ");
    for (const auto& [name, text] : columns_.columns) {
      Line(fmt::format("  {}: {}", config::StringText(name), text));
    }
  }

  void ModelSection() {
    Line("");
    Line("model:");
    Line("  type: " + model_.type);
    for (const MigratedLine& line : model_.lines) {
      if (!line.unknown.empty()) Unknown(line.unknown, "  ");
      if (!line.text.empty()) Line("  " + line.text);
    }
    if (!model_.optimizer) return;
    Line("");
    if (!model_.optimizer->unknown.empty()) Unknown(model_.optimizer->unknown, "");
    Line("optimizer: " + model_.optimizer->text);
  }

  const MigratedRun& run_;
  const MigratedModel& model_;
  const MigratedColumns& columns_;
  std::string label_ = "label";  // names of features, in the records as in the job
  std::string input_ = "x";
  const ParsedFeature* parsed_label_ = nullptr;  // where the parser tells them
  const ParsedFeature* parsed_input_ = nullptr;
  std::string stored_label_;  // its dtype in records or lines; empty: it is not known
  MigratedJob job_;
};

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

std::string WithCheck(const std::string& text, const std::string& what) {
  const size_t end = text.find('\n') + 1;
  return text.substr(0, end) + "# " + what + "\n" + text.substr(end);
}

MigratedJob WriteMigratedJob(const MigratedRun& run, const MigratedModel& model,
                             const MigratedColumns& columns) {
  return JobWriter(run, model, columns).Run();
}

}  // namespace tpuest::cli
