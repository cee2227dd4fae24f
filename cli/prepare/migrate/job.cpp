#include "cli/prepare/migrate/job.h"

#include <algorithm>
#include <cmath>

#include "config/scalars.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

std::string SizesText(const std::vector<int64_t>& values) {
  std::vector<std::string> words;
  for (const int64_t value : values) words.push_back(fmt::format("{}", value));
  return "[" + Join(words, ", ") + "]";
}

// A scale as YAML: "1/255" if it is such a fraction.
std::string ScaleText(double scale) {
  const double below = std::round(1 / scale);
  const bool is_fraction = below > 1 && static_cast<float>(1 / below) == static_cast<float>(scale);
  return is_fraction ? fmt::format("1/{}", static_cast<int64_t>(below))
                     : NumberText(static_cast<float>(scale));
}

// Collects the lines of a job, and marks what could not be found out.
class MarkedLines {
 public:
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
  [[nodiscard]] MigratedJob Take() { return std::move(job_); }

 private:
  MigratedJob job_;
};

// The label of a job's rows.
struct MigratedLabel {
  std::string name = "label";
  std::string stored_dtype;  // in records or lines; empty: unknown
};

// The files as the graph names them. A mark says if some of them are no longer there.
std::string FilesText(const std::vector<std::string>& files, const std::string& what,
                      const std::string& indent, MarkedLines& lines) {
  std::vector<std::string> words;
  for (const std::string& file : files) words.push_back(config::StringText(file));
  const bool all_there = std::all_of(files.begin(), files.end(), FileExists);
  if (!all_there) {
    lines.Unknown(fmt::format("where the {} are now: these are their old names", what), indent);
  }
  return "[" + Join(words, ", ") + "]";
}

// The label's dtype on a CPU.
std::string LabelDtype(const MigratedModel& model) {
  if (model.labels_are_words) return "string";
  return model.labels_are_classes ? "int64" : "float32";
}

// Adds the step that casts a stored label. Classes are int64, on TPUs int32; other numbers are
// float32.
void AddLabelStep(const MigratedLabel& label, const MigratedModel& model, bool is_on_tpu,
                  std::vector<std::string>& steps) {
  std::string dtype = LabelDtype(model);
  const std::string stored = label.stored_dtype.empty() ? dtype : label.stored_dtype;
  if (is_on_tpu && dtype == "int64") dtype = "int32";
  if (stored == dtype || stored == "string") return;
  steps.push_back(
      fmt::format("{{op: cast, in: {}, dtype: {}}}", config::StringText(label.name), dtype));
}

// Adds the map from what rows hold to the model's inputs: as a key of its own, or between the
// stages, where it follows the interleave.
void AddMap(const std::vector<std::string>& steps, const MigratedOrder& order, MarkedLines& lines) {
  const std::string indent = order.IsPlain() ? "    " : "        ";
  const auto map = [&] {
    if (steps.empty()) return;
    lines.Line(order.IsPlain() ? "    map:" : "      - map:");
    for (const std::string& step : steps) lines.Line(fmt::format("{}  - {}", indent, step));
  };
  if (order.IsPlain()) return map();
  lines.Line("    stages:");
  const bool interleaves = order.stages[0].key == "interleave";
  if (!interleaves) map();
  bool repeats = false;
  for (const MigratedStage& stage : order.stages) {
    lines.Line(fmt::format("      - {}: {}", stage.key, stage.value));
    if (stage.key == "interleave") map();
    repeats = repeats || stage.key == "repeat";
  }
  if (!repeats) lines.Line("      - repeat: -1");
}

// Writes the input of TFRecords: source, features, map and label.
class RecordInput {
 public:
  RecordInput(const MigratedRun& run, const MigratedModel& model, const MigratedColumns& columns,
              MarkedLines& lines)
      : run_(run), model_(model), columns_(columns), lines_(lines) {}

  void Write() {
    FindLabel();
    SourceLine();
    lines_.Line("    parse_example:");
    FeatureLines();
    MapLines();
    lines_.Line("    labels: " + config::StringText(label_.name));
  }

 private:
  // The names of the records' features that no column reads, but for the label.
  [[nodiscard]] std::vector<std::string> Unread() const {
    std::vector<std::string> names;
    if (!run_.parser) return names;
    for (const ParsedFeature& feature : run_.parser->features) {
      const bool is_read = columns_.features.contains(feature.name);
      const bool weighs = model_.weight == feature.name;
      if (!is_read && !weighs && feature.name != label_.name) names.push_back(feature.name);
    }
    return names;
  }

  // The label is what the parser's function returns last, or the one feature that no column reads.
  void FindLabel() {
    if (!run_.parser) return;
    const std::vector<std::string> unread = Unread();
    const std::string last = run_.elements.empty() ? "" : run_.elements.back();
    if (!last.empty() && !columns_.features.contains(last)) {
      label_.name = last;
    } else if (unread.size() == 1) {
      label_.name = unread[0];
    }
    parsed_label_ = run_.parser->Find(label_.name);
    if (parsed_label_ != nullptr) label_.stored_dtype = parsed_label_->dtype;
    const std::vector<std::string> others = Unread();
    if (parsed_label_ != nullptr && model_.input && others.size() == 1) {
      parsed_input_ = run_.parser->Find(others[0]);
      input_ = others[0];
    }
  }

  // Bytes are in the records as a string.
  void InputFeature(const MigratedInput& input) {
    if (parsed_input_ != nullptr) {
      return lines_.Line(
          fmt::format("      {}: {}", config::StringText(input_), FeatureText(*parsed_input_)));
    }
    lines_.Unknown(input.shape_known ? "the feature's name in the records"
                                     : "the feature's name and shape in the records",
                   "      ");
    const std::string shape = input.dtype == "uint8" ? "[]" : SizesText(input.shape);
    const std::string dtype = input.dtype == "uint8"     ? "string"
                              : input.dtype == "float32" ? "float32"
                                                         : "int64";
    lines_.Line(
        fmt::format("      x: {{type: FixedLenFeature, shape: {}, dtype: {}}}", shape, dtype));
  }

  // What makes the model's input of the record's feature.
  void InputSteps(const MigratedInput& input, std::vector<std::string>& steps) {
    const std::string name = config::StringText(input_);
    const std::string stored = parsed_input_ == nullptr ? input.dtype : parsed_input_->dtype;
    if (input.dtype == "uint8") {
      steps.push_back(fmt::format("{{op: decode_raw, in: {}, out_type: uint8, shape: {}}}", name,
                                  SizesText(input.shape)));
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

  // Adds the map from the records' features to the model's inputs.
  void MapLines() {
    std::vector<std::string> steps;
    if (model_.input) InputSteps(*model_.input, steps);
    if (model_.input || !label_.stored_dtype.empty()) {
      AddLabelStep(label_, model_, run_.replicas > 1, steps);
    }
    AddMap(steps, run_.order, lines_);
  }

  void ColumnFeature(const std::string& name, const MigratedFeature& feature) {
    const ParsedFeature* const parsed = run_.parser ? run_.parser->Find(name) : nullptr;
    const std::string key = config::StringText(name);
    if (parsed != nullptr) {
      return lines_.Line(fmt::format("      {}: {}", key, FeatureText(*parsed)));
    }
    if (run_.parser) {
      std::vector<std::string> names;
      for (const ParsedFeature& stored : run_.parser->features) names.push_back(stored.name);
      lines_.Unknown(
          fmt::format("how '{}' is computed: the records have {}", name, Join(names, ", ")),
          "      ");
    }
    lines_.Line(fmt::format("      {}: {{type: FixedLenFeature, shape: [{}], dtype: {}}}", key,
                            feature.size == 1 ? "" : fmt::format("{}", feature.size),
                            feature.dtype));
  }

  void LabelFeature() {
    if (parsed_label_ != nullptr) {
      return lines_.Line(fmt::format("      {}: {}", config::StringText(label_.name),
                                     FeatureText(*parsed_label_)));
    }
    lines_.Unknown(
        "the label's name in the records: 'tpuest inspect' of one of the files lists them",
        "      ");
    lines_.Line(
        fmt::format("      label: {{type: FixedLenFeature, shape: [{}], dtype: {}}}",
                    model_.label_dimension == 1 ? "" : fmt::format("{}", model_.label_dimension),
                    LabelDtype(model_)));
  }

  void FeatureLines() {
    if (model_.input) InputFeature(*model_.input);
    for (const auto& [name, feature] : columns_.features) ColumnFeature(name, feature);
    if (model_.weight && !columns_.features.contains(*model_.weight)) {
      ColumnFeature(*model_.weight, MigratedFeature());
    }
    if (model_.takes_any_feature) {
      lines_.Unknown("any feature of the records: a baseline uses it only to count examples",
                     "      ");
      lines_.Line("      x: {type: FixedLenFeature, shape: [], dtype: float32}");
    }
    LabelFeature();
  }

  void SourceLine() {
    if (run_.files.empty()) {
      lines_.Unknown("where the records are: 'tpuest convert --csv' writes TFRecords", "    ");
      return lines_.Line("    source: {type: TFRecordDataset, filenames: [train.tfrecord]}");
    }
    const std::string files = FilesText(run_.files, "records", "    ", lines_);
    lines_.Line(fmt::format("    source: {{type: TFRecordDataset, filenames: {}}}", files));
  }

  const MigratedRun& run_;
  const MigratedModel& model_;
  const MigratedColumns& columns_;
  MarkedLines& lines_;
  MigratedLabel label_;      // its name is the same in the records and in the job
  std::string input_ = "x";  // the feature of a model of layers
  const ParsedFeature* parsed_label_ = nullptr;  // if the parser has them
  const ParsedFeature* parsed_input_ = nullptr;
};

// Writes the input of CSV lines: source, columns, map and label.
class CsvInput {
 public:
  CsvInput(const MigratedRun& run, const MigratedModel& model, MarkedLines& lines)
      : run_(run), model_(model), lines_(lines) {}

  // A column without a name in the feature columns gets one here.
  void Write(const CsvLines& lines) {
    MigratedLabel label;
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
      if (is_label) label.name = name;
      if (is_label) label.stored_dtype = column.dtype;
      selected.push_back(names.back());
      defaults.push_back(column.default_value.empty()
                             ? column.dtype
                             : fmt::format("{{dtype: {}, default_value: {}}}", column.dtype,
                                           column.default_value));
    }
    lines_.Line("    source:");
    lines_.Line("      type: make_csv_dataset");
    CsvFiles();
    if (lines.selects) {
      lines_.Unknown("how many columns the files have: add the names of those after the last one",
                     "      ");
    }
    lines_.Line(fmt::format("      column_names: [{}]", Join(names, ", ")));
    if (selected.size() < names.size()) {
      lines_.Line(fmt::format("      select_columns: [{}]", Join(selected, ", ")));
    }
    lines_.Line("      column_defaults:");
    for (const std::string& text : defaults) lines_.Line("        - " + text);
    if (!lines.label) lines_.Unknown("which column is the label", "      ");
    if (!lines.label_op.empty()) {
      lines_.Unknown(fmt::format("the label: {} computes it from the column", lines.label_op),
                     "      ");
    }
    lines_.Line("      label_name: " + config::StringText(label.name));
    CsvFormat(lines);
    std::vector<std::string> steps;
    if (!label.stored_dtype.empty()) AddLabelStep(label, model_, run_.replicas > 1, steps);
    AddMap(steps, run_.order, lines_);
  }

 private:
  void CsvFiles() {
    if (!run_.files.empty()) {
      const std::string files = FilesText(run_.files, "lines", "      ", lines_);
      return lines_.Line("      file_pattern: " + files);
    }
    lines_.Unknown("where the lines are", "      ");
    lines_.Line("      file_pattern: [train.csv]");
  }

  void CsvFormat(const CsvLines& lines) {
    if (lines.field_delim != ",") {
      lines_.Line("      field_delim: " + config::QuotedText(lines.field_delim));
    }
    if (!lines.use_quote_delim) lines_.Line("      use_quote_delim: false");
    if (!lines.na_value.empty()) {
      lines_.Line("      na_value: " + config::QuotedText(lines.na_value));
    }
    if (lines.skip == 0) lines_.Line("      header: false");
    if (lines.skip > 1) lines_.Unknown("which line is the header", "      ");
  }

  const MigratedRun& run_;
  const MigratedModel& model_;
  MarkedLines& lines_;
};

// Writes the job, section by section.
class JobWriter {
 public:
  JobWriter(const MigratedRun& run, const MigratedModel& model, const MigratedColumns& columns)
      : run_(run), model_(model), columns_(columns) {}

  MigratedJob Run() {
    lines_.Line(fmt::format("# Resumes {} at step {}. Unknown parts are marked ???.",
                            run_.model_dir, run_.global_step));
    lines_.Line("version: 1");
    lines_.Line("name: " + config::StringText(run_.name));
    lines_.Line("mode: train");
    lines_.Line(run_.replicas > 1 ? "use_tpu: true" : "use_tpu: false");
    lines_.Known(run_.batch_size, "train_batch_size: {}", 32, "the batch size", "");
    RunConfigSection();
    InputSection();
    ColumnsSection();
    ModelSection();
    lines_.Line("");
    lines_.Unknown("how far to train", "");
    lines_.Line(
        fmt::format("train_spec: {{input_fn: train, max_steps: {}}}", run_.global_step + 1000));
    return lines_.Take();
  }

 private:
  void RunConfigSection() {
    lines_.Line("");
    lines_.Line("run_config:");
    lines_.Line("  model_dir: " + config::StringText(run_.model_dir));
    lines_.Known(run_.save_steps, "save_checkpoints_steps: {}", 1000, "how often the run saved",
                 "  ");
    if (run_.summary_steps) {
      lines_.Line(fmt::format("  save_summary_steps: {}", *run_.summary_steps));
    }
    if (run_.log_steps) lines_.Line(fmt::format("  log_step_count_steps: {}", *run_.log_steps));
    if (run_.replicas > 1) {
      lines_.Line(fmt::format("  tpu_config: {{num_shards: {}}}", run_.replicas));
    }
  }

  void InputSection() {
    lines_.Line("");
    lines_.Line("input_fns:");
    lines_.Line("  train:");
    if (run_.lines) {
      CsvInput(run_, model_, lines_).Write(*run_.lines);
    } else {
      RecordInput(run_, model_, columns_, lines_).Write();
    }
    for (const std::string& what : run_.order.unsaid) lines_.Unknown(what, "    ");
    if (run_.order.IsPlain()) PlainOrder();
  }

  void PlainOrder() {
    std::string passes = "-1";
    bool shuffles = false;
    for (const MigratedStage& stage : run_.order.stages) {
      if (stage.key == "repeat") passes = stage.value;
      if (stage.key != "shuffle") continue;
      lines_.Line(fmt::format("    shuffle: {{buffer_size: {}}}", stage.value));
      shuffles = true;
    }
    if (!shuffles && !run_.order.is_known) {
      lines_.Unknown("how the records were shuffled", "    ");
      lines_.Line("    shuffle: {buffer_size: full}");
    }
    lines_.Line("    repeat: " + passes);
  }

  void ColumnsSection() {
    if (columns_.columns.empty()) return;
    lines_.Line("");
    lines_.Line("feature_columns:");
    for (const std::string& what : columns_.unknown) lines_.Unknown(what, "  ");
    for (const auto& [name, text] : columns_.columns) {
      lines_.Line(fmt::format("  {}: {}", config::StringText(name), text));
    }
  }

  void ModelSection() {
    lines_.Line("");
    lines_.Line("model:");
    lines_.Line("  type: " + model_.type);
    for (const MigratedLine& line : model_.lines) {
      if (!line.unknown.empty()) lines_.Unknown(line.unknown, "  ");
      if (!line.text.empty()) lines_.Line("  " + line.text);
    }
    if (!model_.optimizer) return;
    lines_.Line("");
    if (!model_.optimizer->unknown.empty()) lines_.Unknown(model_.optimizer->unknown, "");
    lines_.Line("optimizer: " + model_.optimizer->text);
  }

  const MigratedRun& run_;
  const MigratedModel& model_;
  const MigratedColumns& columns_;
  MarkedLines lines_;
};

}  // namespace

std::string WithCheck(const std::string& text, const std::string& what) {
  const size_t end = text.find('\n') + 1;
  return text.substr(0, end) + "# " + what + "\n" + text.substr(end);
}

MigratedJob WriteMigratedJob(const MigratedRun& run, const MigratedModel& model,
                             const MigratedColumns& columns) {
  return JobWriter(run, model, columns).Run();
}

}  // namespace tpuest::cli
