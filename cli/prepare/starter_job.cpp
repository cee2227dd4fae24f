#include "cli/prepare/starter_job.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job/lines.h"
#include "config/scalars.h"
#include "config/substitute.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// The column at which a vocabulary begins that has a line of its own.
constexpr size_t kVocabularyColumn = std::string_view("    vocabulary_list: ").size();

const data::CsvColumnProfile& LabelColumn(const StarterPlan& plan) { return *plan.label.column; }

// Collects the lines of a job.
class JobLines {
 public:
  void Line(const std::string& line) { text_ += line + "\n"; }
  // Adds whole lines, newlines included.
  void Add(const std::string& lines) { text_ += lines; }

  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Writes `input_fns`: the files, their rows and columns.
class InputSection {
 public:
  InputSection(const data::CsvProfile& profile, const StarterPlan& plan, const StarterPaths& paths,
               JobLines& lines)
      : profile_(profile), plan_(plan), paths_(paths), lines_(lines) {}

  void Write() {
    lines_.Line("");
    lines_.Line("input_fns:");
    lines_.Line("  train:");
    const StarterSplit split = plan_.split;
    Source(paths_.train,
           split == StarterSplit::kHash   ? "split: {part: train}"
           : split == StarterSplit::kLast ? fmt::format("take: {}", plan_.train_rows)
                                          : "",
           split == StarterSplit::kHash ? "about four fifths of the rows, by a hash of each"
                                        : "the first four fifths of the rows");
    lines_.Line("    shuffle: {buffer_size: full}");
    lines_.Line("    repeat: -1  # until max_steps");
    lines_.Line("  eval:");
    Source(paths_.eval.value_or(paths_.train),
           split == StarterSplit::kHash   ? "split: {part: eval}"
           : split == StarterSplit::kLast ? fmt::format("skip: {}", plan_.train_rows)
                                          : "",
           "the other rows");
  }

 private:
  void Source(const std::string& path, const std::string& range, const std::string& comment) {
    const data::CsvSource& source = profile_.source;
    lines_.Line("    source:");
    lines_.Line("      type: make_csv_dataset");
    lines_.Line("      file_pattern: " + Word(path));
    if (!range.empty()) lines_.Line("      " + range + "  # " + comment);
    if (source.column_names) {
      std::vector<std::string> names;
      for (const std::string& name : *source.column_names) names.push_back(Word(name));
      lines_.Line(FlowList("      column_names: ", names, 10));
    }
    if (!source.header) lines_.Line("      header: false");
    if (source.field_delim != ",") {
      lines_.Line("      field_delim: " + config::QuotedText(source.field_delim));
    }
    if (!source.na_value.empty()) {
      lines_.Line("      na_value: " + config::QuotedText(source.na_value) +
                  "  # also means empty");
    }
    if (source.compression_type) lines_.Line("      compression_type: " + *source.compression_type);
    lines_.Line("      label_name: " + Word(LabelColumn(plan_).name));
    SelectedColumns();
  }

  void SelectedColumns() {
    const bool first_source = !wrote_source_;
    wrote_source_ = true;
    std::vector<std::string> names;
    std::vector<std::string> defaults;
    for (const data::CsvColumnProfile& column : profile_.columns) {
      if (&column != &LabelColumn(plan_) && !IsRead(column)) continue;
      names.push_back(Word(column.name));
      defaults.push_back(&column == &LabelColumn(plan_) ? plan_.label.dtype
                                                        : DefaultOf(*Find(column)));
    }
    if (!first_source) {
      lines_.Line("      select_columns: *columns");
      lines_.Line("      column_defaults: *defaults");
      return;
    }
    lines_.Line(FlowList("      select_columns: &columns ", names, 10));
    lines_.Line("      # The value of an empty field, per column. The label must not be empty.");
    lines_.Line(FlowList("      column_defaults: &defaults ", defaults, 10));
  }

  // True if the job reads the column from the file.
  [[nodiscard]] bool IsRead(const data::CsvColumnProfile& column) const {
    return Find(column) != nullptr;
  }
  [[nodiscard]] const StarterColumn* Find(const data::CsvColumnProfile& column) const {
    for (const StarterColumn& planned : plan_.columns) {
      if (planned.column == &column && planned.use != ColumnUse::kLeftOut) return &planned;
    }
    return nullptr;
  }

  [[nodiscard]] static std::string DefaultOf(const StarterColumn& column) {
    if (column.use != ColumnUse::kNumeric) return column.missing_value;
    if (column.column->dtype != DType::kDouble)
      return Rounded(column.column->mean, column.column->std);
    return fmt::format("{{dtype: float64, default_value: {}}}",
                       Rounded(column.column->mean, column.column->std));
  }

  const data::CsvProfile& profile_;
  const StarterPlan& plan_;
  const StarterPaths& paths_;
  JobLines& lines_;
  bool wrote_source_ = false;
};

// Writes `feature_columns`, with a comment on each.
class ColumnSection {
 public:
  ColumnSection(const StarterPlan& plan, JobLines& lines) : plan_(plan), lines_(lines) {}

  void Write() {
    lines_.Line("");
    lines_.Line("feature_columns:");
    for (const StarterColumn& column : plan_.columns) {
      if (column.use == ColumnUse::kLeftOut) {
        lines_.Line(fmt::format("  # {}: left out, {}", config::StringText(column.column->name),
                                column.why));
      } else {
        Column(column);
      }
    }
    if (plan_.model != StarterModel::kLinear) DenseColumns();
  }

 private:
  void Column(const StarterColumn& column) {
    const data::CsvColumnProfile& seen = *column.column;
    Fields fields = {{"type", ""}, {"key", Word(seen.name)}};
    if (column.use == ColumnUse::kNumeric) {
      fields[0].second = "numeric_column";
      if (seen.missing > 0) fields.emplace_back("default_value", Rounded(seen.mean, seen.std));
      if (column.normalized) {
        fields.emplace_back("normalizer_fn",
                            fmt::format("{{type: z_score, mean: {}, std: {}}}",
                                        Rounded(seen.mean, seen.std), Rounded(seen.std, seen.std)));
      }
    } else if (column.use == ColumnUse::kHashBucket) {
      fields[0].second = "categorical_column_with_hash_bucket";
      fields.emplace_back("hash_bucket_size", fmt::format("{}", column.categories));
      if (!column.is_text) fields.emplace_back("dtype", "int64");
    } else {
      fields[0].second = "categorical_column_with_vocabulary_list";
      fields.emplace_back("vocabulary_list", FlowList(kVocabularyColumn, Vocabulary(column), 6));
    }
    lines_.Add(SectionLines(Word(column.name), fields, column.why));
  }

  [[nodiscard]] static std::vector<std::string> Vocabulary(const StarterColumn& column) {
    std::vector<std::string> words;
    if (column.is_text) {
      for (const auto& [text, count] : column.column->texts) words.push_back(text);
      std::sort(words.begin(), words.end());
      std::transform(words.begin(), words.end(), words.begin(), Word);
      return words;
    }
    std::set<int64_t> numbers;
    for (const auto& [text, count] : column.column->texts) numbers.insert(std::stoll(text));
    numbers.erase(-1);  // no category, in TensorFlow either
    for (const int64_t number : numbers) words.push_back(fmt::format("{}", number));
    return words;
  }

  // Adds the columns by which a network takes the categories.
  void DenseColumns() {
    lines_.Line(
        "  # A network needs numbers: a one-hot vector per category, or a learned embedding.");
    for (const StarterColumn& column : plan_.columns) {
      if (column.dense_name.empty()) continue;
      lines_.Line(column.dimension == 0
                      ? fmt::format("  {}: {{type: indicator_column, categorical_column: {}}}",
                                    Word(column.dense_name), Word(column.name))
                      : fmt::format("  {}: {{type: embedding_column, categorical_column: {}, "
                                    "dimension: {}}}",
                                    Word(column.dense_name), Word(column.name), column.dimension));
    }
  }

  const StarterPlan& plan_;
  JobLines& lines_;
};

// Writes `model`: type, label, columns, network, optimizer and metrics.
class ModelSection {
 public:
  ModelSection(const StarterPlan& plan, JobLines& lines)
      : plan_(plan),
        lines_(lines),
        linear_(plan.model == StarterModel::kLinear),
        baseline_(plan.model == StarterModel::kBaseline) {}

  void Write() {
    lines_.Line("");
    lines_.Line("model:");
    const StarterLabel& label = plan_.label;
    lines_.Add(Commented("  type: " + plan_.ModelType(), LabelComment()));
    if (label.is_class && label.n_classes > 2) {
      lines_.Line(fmt::format("  n_classes: {}", label.n_classes));
    }
    if (!label.vocabulary.empty()) {
      std::vector<std::string> words;
      for (const std::string& word : label.vocabulary) {
        words.push_back(config::QuotedText(config::EscapeVariables(word)));
      }
      lines_.Line(FlowList("  label_vocabulary: ", words, 6));
    }
    if (!label.is_class && label.far_scale && !linear_ && !baseline_) ScaleLabel();
    if (plan_.model == StarterModel::kCombined) {
      Combined();
    } else if (!baseline_) {
      lines_.Line(FlowList("  feature_columns: ", Names(true, true, !linear_), 6));
      if (!linear_) {
        Network("");
      }
    }
    if (linear_ || baseline_) LinearOptimizer();
    Metrics();
  }

 private:
  // The names of feature columns: of numbers, and of categories or, with `dense`, of what stands
  // beside them.
  [[nodiscard]] std::vector<std::string> Names(bool numbers, bool categories, bool dense) const {
    std::vector<std::string> names;
    for (const StarterColumn& column : plan_.columns) {
      if (column.use == ColumnUse::kLeftOut) continue;
      if (column.use == ColumnUse::kNumeric) {
        if (numbers) names.push_back(Word(column.name));
      } else if (categories) {
        names.push_back(Word(dense ? column.dense_name : column.name));
      }
    }
    return names;
  }

  // What TensorFlow's heads leave out of an evaluation.
  void Metrics() {
    const StarterLabel& label = plan_.label;
    std::vector<std::string> names = {"r2_score", "mean_absolute_error", "root_mean_squared_error"};
    if (label.is_class) names = {"confusion_matrix"};
    if (label.is_class && label.n_classes > 2) {
      names = {"precision", "recall", "confusion_matrix"};
    }
    lines_.Line(FlowList("  metrics: ", names, 6) + "  # in addition to the head's");
  }

  // Networks learn labels around 0 and of size 1; a linear model's rate follows the scale instead.
  void ScaleLabel() {
    lines_.Add(Commented(fmt::format("  label_scaling: {{mean: {}, std: {}}}",
                                     Rounded(LabelColumn(plan_).mean, LabelColumn(plan_).std),
                                     Rounded(LabelColumn(plan_).std, LabelColumn(plan_).std)),
                         "of the training rows; predictions are in the label's unit"));
  }

  void Combined() {
    // The linear part knows the categories one by one; the network what they and the numbers do
    // together.
    const std::vector<std::string> categories = Names(false, true, false);
    lines_.Line(FlowList("  linear_feature_columns: ",
                         categories.empty() ? Names(true, false, false) : categories, 6));
    lines_.Line(FlowList("  dnn_feature_columns: ", Names(true, true, true), 6));
    Network("dnn_");
  }

  // The network's part of the model, whose keys begin with `prefix`. Of few rows a larger one
  // learns what is chance. Adagrad at its default rate, 0.001, would need many more steps.
  void Network(const std::string& prefix) {
    lines_.Line(fmt::format("  {}hidden_units: {}", prefix, HiddenUnits()));
    if (FewRows()) {
      lines_.Line(fmt::format("  {}dropout: 0.1  # few rows: reduces overfitting", prefix));
    }
    lines_.Line(
        fmt::format("  {}optimizer: {{type: Adagrad, learning_rate: 0.05}}  # TensorFlow's "
                    "default: 0.001",
                    prefix));
  }

  [[nodiscard]] bool FewRows() const { return plan_.train_rows < 1000; }

  [[nodiscard]] std::string HiddenUnits() const {
    if (FewRows()) return "[16]";
    if (plan_.train_rows < 10000) return "[32, 16]";
    return plan_.train_rows < 100000 ? "[64, 32]" : "[128, 64]";
  }

  // Ftrl's steps are as long as its rate, whatever the gradients: TensorFlow's 0.2 is for labels
  // of size 1.
  void LinearOptimizer() {
    if (plan_.label.is_class || !plan_.label.far_scale) return;
    const double scale = std::max(std::abs(LabelColumn(plan_).mean), LabelColumn(plan_).std);
    if (scale <= 1) return;
    lines_.Add(Commented(fmt::format("  optimizer: {{type: Ftrl, learning_rate: {}}}",
                                     NumberText(std::stod(fmt::format("{:.1g}", 0.2 * scale)))),
                         "a fifth of the label's size"));
  }

  [[nodiscard]] std::string LabelComment() const {
    const StarterLabel& label = plan_.label;
    const std::string name = config::StringText(label.column->name);
    if (!label.is_class) {
      return fmt::format("{} is a number from {}", name, RangeOf(*label.column));
    }
    if (label.vocabulary.empty()) {
      return fmt::format("{} is one of {} classes, 0 to {}", name, label.n_classes,
                         label.n_classes - 1);
    }
    return fmt::format("{} is one of {} classes", name, label.n_classes);
  }

  const StarterPlan& plan_;
  JobLines& lines_;
  bool linear_;
  bool baseline_;
};

// Writes the job, section by section.
class JobText {
 public:
  JobText(const data::CsvProfile& profile, const StarterPlan& plan, const StarterPaths& paths)
      : profile_(profile), plan_(plan), paths_(paths) {}

  std::string Make() {
    Head();
    InputSection(profile_, plan_, paths_, lines_).Write();
    if (plan_.model != StarterModel::kBaseline) ColumnSection(plan_, lines_).Write();
    ModelSection(plan_, lines_).Write();
    lines_.Line("");
    lines_.Line(fmt::format("train_spec: {{input_fn: train, max_steps: {}}}", plan_.max_steps));
    lines_.Line("eval_spec: {input_fn: eval, steps: null}  # all rows, once");
    lines_.Line("predict: {input_fn: eval}  # --input FILE reads rows from another file");
    DataErrorsSection();
    return lines_.Take();
  }

 private:
  void Head() {
    const std::string job = paths_.job == "-" ? paths_.name + ".yaml" : paths_.job;
    lines_.Line(fmt::format("# Predicts the column {} of {}: {} rows, {} columns.",
                            config::StringText(LabelColumn(plan_).name), paths_.train,
                            WithCommas(profile_.rows), profile_.columns.size()));
    if (profile_.looked_at < profile_.rows) {
      lines_.Line(
          fmt::format("# Based on {} rows, spread over the file.", WithCommas(profile_.looked_at)));
    }
    lines_.Line("#");
    lines_.Line("#   tpuest train " + job);
    lines_.Line("#   tpuest evaluate " + job);
    lines_.Line("#   tpuest predict " + job + " --input new.csv   # the label may be absent");
    lines_.Line("#   tpuest export " + job + " --verify 100");
    for (const std::string& warning : plan_.warnings) lines_.Line("#\n# Beware: " + warning + ".");
    lines_.Line("version: 1");
    lines_.Line("name: " + Word(paths_.name));
    lines_.Line("mode: train");
    lines_.Line("use_tpu: false");
    lines_.Line(fmt::format("train_batch_size: {}", plan_.batch_size));
    lines_.Line("eval_batch_size: 1000");
    lines_.Line("");
    lines_.Line("run_config:");
    lines_.Line("  model_dir: " + Word(paths_.model_dir));
    lines_.Line("  tf_random_seed: 1");
    lines_.Line(
        fmt::format("  save_checkpoints_steps: {}", std::min<int64_t>(plan_.max_steps, 1000)));
  }

  void DataErrorsSection() {
    const int64_t bad = profile_.bad + LabelColumn(plan_).missing;
    if (bad == 0) return;
    const double part = static_cast<double>(bad) / static_cast<double>(profile_.looked_at);
    lines_.Line("");
    lines_.Line(fmt::format(
        "# {} of {} rows cannot be read or have no label: they are skipped, and listed in", bad,
        WithCommas(profile_.looked_at)));
    lines_.Line("# .tpuest/bad_records.tsv of the run.");
    lines_.Line(fmt::format("tpuest: {{data_errors: {{policy: skip, max_fraction: {}}}}}",
                            NumberText(std::min(1.0, std::ceil(200 * part + 1) / 100))));
  }

  const data::CsvProfile& profile_;
  const StarterPlan& plan_;
  const StarterPaths& paths_;
  JobLines lines_;
};

}  // namespace

std::string StarterJob(const data::CsvProfile& profile, const StarterPlan& plan,
                       const StarterPaths& paths) {
  return JobText(profile, plan, paths).Make();
}

}  // namespace tpuest::cli
