// tpuest card RUN

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

#include "cli/look/commands.h"
#include "cli/look/inspect/checkpoint.h"
#include "cli/run/record/compare.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/json.h"
#include "cli/shell/document.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "cli/shell/tables.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/bundle.h"

namespace tpuest::cli {
namespace {

struct CardInvocation : Invocation {
  std::optional<std::string> output;
  bool force = false;
};

// A run's latest evaluation of one name: its metrics at one step.
struct Results {
  std::string of;
  int64_t step = 0;
  std::vector<std::pair<std::string, double>> metrics;
};

// The contents of a card; names and values of the job are as in the job.
struct Card {
  std::string title;
  std::vector<std::pair<std::string, std::string>> model;
  std::vector<std::pair<std::string, std::string>> data;
  std::vector<std::pair<std::string, std::string>> training;
  std::vector<Results> results;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string command;
};

std::string TimeText(double wall_seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(wall_seconds)));
}

// The values of keys that the run has, under the names that a reader knows them by.
class Rows {
 public:
  explicit Rows(const std::vector<config::FlatValue>& keys) : keys_(keys) {}

  Rows& Key(const std::string& name, const std::string& path) {
    const std::string text = config::FindText(keys_, path).value_or(ItemsOf(path));
    return Text(name, text == "null" || text == "\"\"" ? "" : text);
  }
  Rows& Text(const std::string& name, const std::string& text) {
    if (!text.empty()) rows_.emplace_back(name, text);
    return *this;
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> Take() { return std::move(rows_); }

 private:
  // "a, b" of a list.
  [[nodiscard]] std::string ItemsOf(const std::string& path) const {
    std::vector<std::string> items;
    for (const config::FlatValue& key : keys_) {
      if (key.path == fmt::format("{}[{}]", path, items.size())) items.push_back(key.text);
    }
    return Join(items, ", ");
  }

  const std::vector<config::FlatValue>& keys_;
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string ParametersText(const ComparedRun& run) {
  if (run.checkpoints.empty()) return "";
  const BundleReader reader(run.checkpoints.rbegin()->second);
  int64_t numbers = 0;
  int64_t variables = 0;
  for (const std::string& name : reader.Names()) {
    if (IsBesideParameters(reader, name)) continue;
    numbers += reader.ShapeOf(name).elements();
    ++variables;
  }
  return fmt::format("{} in {} variables", WithCommas(numbers), WithCommas(variables));
}

// The types of a list's items, "dense, dropout, dense".
std::string TypesIn(const std::vector<config::FlatValue>& keys, const std::string& list) {
  std::vector<std::string> types;
  for (const config::FlatValue& key : keys) {
    const bool is_item = key.path.starts_with(list + "[") && key.path.ends_with("].type") &&
                         key.path.find('[', list.size() + 1) == std::string::npos;
    if (is_item) types.push_back(key.text);
  }
  return Join(types, ", ");
}

std::vector<Results> ResultsOf(const RunSeries& series) {
  std::vector<Results> results;
  for (const Series& curve : series.series) {
    if (curve.of == "train" || curve.points.empty()) continue;
    const auto same = std::find_if(results.begin(), results.end(),
                                   [&](const Results& known) { return known.of == curve.of; });
    Results& of = same != results.end() ? *same : results.emplace_back(Results{curve.of, 0, {}});
    of.step = std::max(of.step, curve.points.back().step);
    of.metrics.emplace_back(curve.metric, curve.points.back().value);
  }
  return results;
}

std::string At(const Json& json, const char* key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : "";
}

Card CardOf(const std::string& path, const ComparedRun& run) {
  const Json record = ReadRunJson(path).value_or(Json::object());
  const std::vector<config::FlatValue>& keys = run.keys;
  Card card;
  card.title = config::FindText(keys, "name").value_or("");
  if (card.title.empty() || card.title == "\"\"" || card.title == "null") {
    card.title = BaseName(path);
  }
  card.model = Rows(keys)
                   .Key("model", "model.type")
                   .Text("layers", TypesIn(keys, "model.layers"))
                   .Key("hidden units", "model.hidden_units")
                   .Key("feature columns", "model.feature_columns")
                   .Key("head", "model.head.type")
                   .Key("classes", "model.head.n_classes")
                   .Key("classes", "model.n_classes")
                   .Text("parameters", ParametersText(run))
                   .Take();
  const std::string train = "input_fns." + run.train_input;
  const std::string eval = "input_fns." + config::FindText(keys, "eval_spec.input_fn").value_or("");
  card.data = Rows(keys)
                  .Key("trained on", train + ".source.type")
                  .Key("files", train + ".source.filenames")
                  .Key("files", train + ".source.file_pattern")
                  .Key("files", train + ".source.file")
                  .Text("as they were", At(record, "input"))
                  .Key("label", train + ".source.label_name")
                  .Key("label", train + ".labels")
                  .Key("evaluated on", eval + ".source.type")
                  .Key("its files", eval + ".source.filenames")
                  .Key("its files", eval + ".source.file_pattern")
                  .Key("its files", eval + ".source.file")
                  .Take();
  const auto step = run.series.last_step();
  std::string when;
  if (record.contains("start") && record.at("start").is_number()) {
    when = TimeText(record.at("start").get<double>());
  }
  card.training = Rows(keys)
                      .Text("steps", step ? WithCommas(*step) : "")
                      .Key("batch size", "train_batch_size")
                      .Key("replicas", "run_config.tpu_config.num_shards")
                      .Key("optimizer", "optimizer.type")
                      .Key("optimizer", "model.optimizer.type")
                      .Key("learning rate", "optimizer.learning_rate")
                      .Key("learning rate", "model.optimizer.learning_rate")
                      .Key("seed", "run_config.tf_random_seed")
                      .Text("begun", when)
                      .Text("state", NameOf(RunFolder::StateOf(path)))
                      .Take();
  card.results = ResultsOf(run.series);
  card.environment = Rows(keys)
                         .Text("tpuest", At(record, "version"))
                         .Text("commit", At(record, "commit"))
                         .Text("device", At(record, "device"))
                         .Text("processor", At(record, "cpu"))
                         .Take();
  card.command = At(record, "argv");
  return card;
}

void AddRows(Document& page, const std::string& title,
             const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return;
  page.Heading(title);
  for (const auto& [name, value] : rows) page.Item(name, fmt::format("`{}`", value));
}

std::string MarkdownOf(const Card& card) {
  Document page;
  AddRows(page, "Model", card.model);
  AddRows(page, "Data", card.data);
  AddRows(page, "Training", card.training);
  for (const Results& results : card.results) {
    page.Heading(fmt::format("Results of {} at step {}", results.of, WithCommas(results.step)));
    for (const auto& [metric, value] : results.metrics) {
      page.Item(metric, fmt::format("`{}`", NumberText(static_cast<float>(value))));
    }
  }
  AddRows(page, "Environment", card.environment);
  if (!card.command.empty()) page.Heading("Made by").Code(card.command);
  return fmt::format("# {}\n\n{}", card.title, Markdown(page));
}

Json RowsJson(const std::vector<std::pair<std::string, std::string>>& rows) {
  Json json = Json::object();
  for (const auto& [name, value] : rows) json[name] = value;
  return json;
}

Json CardJson(const Card& card) {
  Json results = Json::array();
  for (const Results& of : card.results) {
    Json metrics = Json::object();
    for (const auto& [metric, value] : of.metrics) metrics[metric] = static_cast<float>(value);
    results.push_back({{"eval", of.of}, {"global_step", of.step}, {"metrics", metrics}});
  }
  return {{"title", card.title},         {"model", RowsJson(card.model)},
          {"data", RowsJson(card.data)}, {"training", RowsJson(card.training)},
          {"results", results},          {"environment", RowsJson(card.environment)},
          {"command", card.command}};
}

int WriteCard(const CardInvocation& invocation, config::Sources& sources) {
  if (invocation.arguments.size() != 1) {
    throw Error(Code::kUsage, "card takes one run", "tpuest card runs/mnist");
  }
  const std::string& path = invocation.arguments[0];
  if (invocation.output) CheckNewFile(*invocation.output, invocation.force);
  const Card card = CardOf(path, ReadRun(path, sources));
  if (invocation.output) WriteFileAtomically(*invocation.output, MarkdownOf(card));
  if (invocation.json) {
    PrintDocument("card", CardJson(card));
  } else if (!invocation.output) {
    fmt::print("{}", MarkdownOf(card));
  }
  return 0;
}

}  // namespace

Command CardCommand() {
  return MakeCommand<CardInvocation>(
      {.name = "card",
       .summary = "write a run's model card: model, data, training, results, environment",
       .examples = {"tpuest card runs/mnist", "tpuest card runs/mnist --output MODEL_CARD.md"},
       .takes = Takes::kPath},
      [](FlagSet& flags, CardInvocation& to) {
        flags.Text("--output", to.output, "FILE", "Markdown file to write; default stdout");
        flags.Switch("--force", to.force, "overwrite the file");
      },
      WriteCard);
}

}  // namespace tpuest::cli
