#include "cli/flags.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr const char* kRunGroup = "Run";
constexpr const char* kOutputGroup = "Output";

// A flag that takes one of a few words.
template <class T>
CLI::Option* AddChoice(CLI::App& app, const std::string& flag, T& to,
                       const std::vector<std::pair<std::string, T>>& choices,
                       const std::string& help) {
  std::vector<std::string> words;
  for (const auto& [word, value] : choices) words.push_back(word);
  const auto read = [&to, choices, words, flag](const std::string& given) {
    for (const auto& [word, value] : choices) {
      if (word != given) continue;
      to = value;
      return;
    }
    throw CLI::ValidationError(flag,
                               fmt::format("expected {}, found '{}'", Join(words, " or "), given));
  };
  return app.add_option_function<std::string>(flag, read, help)->option_text(Join(words, "|"));
}

// A flag that takes a whole number of at least `least`.
template <class T>
CLI::Option* AddInteger(CLI::App& app, const std::string& flag, T& to, int least,
                        const std::string& help) {
  const auto read = [&to, least, flag](const std::string& given) {
    using Number = std::conditional_t<std::is_same_v<T, std::optional<int>>, int, int64_t>;
    Number number = 0;
    const char* const end = given.data() + given.size();
    const auto [rest, error] = std::from_chars(given.data(), end, number);
    if (error != std::errc() || rest != end || number < least) {
      throw CLI::ValidationError(
          flag, fmt::format("expected a whole number from {} on, found '{}'", least, given));
    }
    to = static_cast<Number>(number);
  };
  return app.add_option_function<std::string>(flag, read, help)->option_text("N");
}

void AddOutputFlags(CLI::App& app, Invocation& to) {
  app.add_flag("--json", to.json, "the result as one JSON document on stdout")
      ->disable_flag_override()
      ->group(kOutputGroup);
  AddChoice<LogFormat>(
      app, "--log-format", to.log_format,
      {{"text", LogFormat::kText}, {"tf", LogFormat::kTensorFlow}, {"json", LogFormat::kJson}},
      "text, tf (TensorFlow's lines) or json")
      ->group(kOutputGroup);
  app.add_flag("-q,--quiet", to.quiet, "warnings and errors only")
      ->disable_flag_override()
      ->group(kOutputGroup);
  app.add_flag("-v,--verbose", to.verbose, "details too")
      ->disable_flag_override()
      ->group(kOutputGroup);
  AddChoice<Toggle>(
      app, "--color", to.color,
      {{"auto", Toggle::kAuto}, {"always", Toggle::kAlways}, {"never", Toggle::kNever}},
      "colours on stderr")
      ->group(kOutputGroup);
  AddChoice<Toggle>(app, "--progress", to.progress,
                    {{"auto", Toggle::kAuto}, {"on", Toggle::kAlways}, {"off", Toggle::kNever}},
                    "a status line on stderr")
      ->group(kOutputGroup);
}

void AddDevice(CLI::App& app, Invocation& to) {
  const auto read = [&to](const std::string& given) {
    const bool is_path = given.starts_with("pjrt:") && given.size() > std::string("pjrt:").size();
    if (!is_path && given != "cpu" && given != "cpu-xla" && given != "cuda" && given != "tpu") {
      throw CLI::ValidationError(
          "--device",
          fmt::format("expected cpu, cpu-xla, cuda, tpu or pjrt:PATH, found '{}'", given));
    }
    to.device = given;
  };
  app.add_option_function<std::string>("--device", read,
                                       "where the steps run: here, or on a PJRT plugin")
      ->option_text("cpu|cpu-xla|cuda|tpu|pjrt:PATH")
      ->group(kRunGroup);
}

void AddRunFlags(CLI::App& app, Invocation& to) {
  app.add_option("--model-dir", to.model_dir, "the run's folder (run_config.model_dir)")
      ->option_text("DIR")
      ->group(kRunGroup);
  app.add_option("-C", to.directory, "change to this folder first")
      ->option_text("DIR")
      ->group(kRunGroup);
  AddInteger(app, "--threads", to.threads, 1, "step threads; the bits do not depend on it")
      ->group(kRunGroup);
  AddDevice(app, to);
}

void AddPredictFlags(CLI::App& app, Invocation& to) {
  app.add_option("--input", to.input,
                 "rows in the place of predict.input_fn's file, labels not needed; -: CSV on stdin")
      ->option_text("FILE|-");
  app.add_option("--output", to.output, "where the predictions go; -: stdout")
      ->option_text("FILE|-");
  AddChoice<std::optional<std::string>>(app, "--format", to.format,
                                        {{"jsonl", "jsonl"}, {"csv", "csv"}},
                                        "a JSON object or a CSV line a prediction");
  AddInteger(app, "--limit", to.limit, 0, "rows");
}

void AddExportFlags(CLI::App& app, Invocation& to) {
  AddChoice<std::optional<int64_t>>(app, "--api-version", to.api_version, {{"1", 1}, {"2", 2}},
                                    "of the TPU's MetaGraph (export_saved_model_api_version)");
  app.add_option("--export-dir", to.export_dir, "gets a folder an export (export.export_dir_base)")
      ->option_text("DIR");
  AddInteger(app, "--verify", to.verify, 0,
             "read back and compare on so many records (export.verify)");
}

void AddConvertFlags(CLI::App& app, Invocation& to) {
  app.add_option("--images", to.images, "IDX file of images, plain or gz")->option_text("FILE");
  app.add_option("--labels", to.labels, "IDX file of labels, plain or gz")->option_text("FILE");
  AddInteger(app, "--digits", to.digits, 1, "so many drawn digits instead");
  AddInteger(app, "--seed", to.seed, 0, "of the drawn digits");
  app.add_option("--csv", to.csv, "CSV instead: a file, a pattern or -; *.gz is inflated")
      ->option_text("FILE");
  app.add_option("--column-names", to.column_names, "of the CSV; without it the header's")
      ->option_text("A,B,...");
  app.add_option("--field-delim", to.field_delim, "between the CSV's fields")->option_text("C");
  app.add_option("--na-value", to.na_value, "what counts as an empty field of the CSV")
      ->option_text("TEXT");
  app.add_flag("--no-header", to.no_header, "the CSV's first row is a record")
      ->disable_flag_override();
  AddInteger(app, "--skip", to.skip, 0, "records left out at the start");
  AddInteger(app, "--take", to.take, 0, "records written");
  AddChoice<std::optional<std::string>>(app, "--compression", to.compression,
                                        {{"GZIP", "GZIP"}, {"ZLIB", "ZLIB"}},
                                        "of the TFRecord file");
  app.add_option("--output", to.output, "the TFRecord file")->option_text("FILE");
}

void AddInitFlags(CLI::App& app, Invocation& to) {
  app.add_option("--from", to.from, "the CSV file; *.gz is inflated")->option_text("FILE");
  app.add_option("--label", to.label, "the column to learn")->option_text("NAME");
  AddChoice<std::string>(
      app, "--model", to.model,
      {{"linear", "linear"}, {"dnn", "dnn"}, {"combined", "combined"}, {"baseline", "baseline"}},
      "what learns it; linear unless said");
  app.add_option("--eval", to.eval, "a file to evaluate on; without it the last fifth of the rows")
      ->option_text("FILE");
  app.add_option("--column-names", to.column_names, "names of all columns; the header's if absent")
      ->option_text("A,B,...");
  app.add_flag("--no-header", to.no_header, "the CSV's first row is a record")
      ->disable_flag_override();
  app.add_option("--output", to.output, "the job; FROM's name with .yaml if absent; -: stdout")
      ->option_text("FILE|-");
  app.add_flag("--force", to.force, "overwrite the job file")->disable_flag_override();
}

}  // namespace

void AddFlags(CLI::App& app, std::string_view command, Invocation& to) {
  const bool evaluates = command == "evaluate" || command == "run";
  const bool predicts = command == "predict" || command == "run";
  const bool exports = command == "export" || command == "run";
  if (evaluates || predicts || exports) {
    app.add_option("--checkpoint", to.checkpoint,
                   "a prefix, a step, a model_dir, latest or best; the job may then be left out")
        ->option_text("PATH|STEP|latest|best");
  }
  if (evaluates) app.add_option("--name", to.name, "events go to eval_NAME/")->option_text("NAME");
  if (command == "evaluate") {
    app.add_flag("--follow", to.follow, "the newest checkpoints of a run, until it is over")
        ->disable_flag_override();
  }
  if (predicts) AddPredictFlags(app, to);
  if (exports) AddExportFlags(app, to);
  if (command == "plan") {
    app.add_option("--compile", to.compile,
                   "compile the training step for a TPU that is not there, as v5e:2x2")
        ->option_text("TOPOLOGY");
    app.add_option("--dump-hlo", to.dump_hlo, "write the training step as StableHLO")
        ->option_text("FILE");
  }
  if (command == "config") {
    app.add_flag("--full", to.full, "every value, with its origin")->disable_flag_override();
  }
  if (command == "inspect") {
    app.add_option("--value", to.value, "print this variable's values")->option_text("NAME");
  }
  if (command == "init") AddInitFlags(app, to);
  if (command == "convert") AddConvertFlags(app, to);
  AddRunFlags(app, to);
  AddOutputFlags(app, to);
}

}  // namespace tpuest::cli
