#include "cli/flags.h"

#include "cli/flag_kinds.h"

namespace tpuest::cli {
namespace {

constexpr const char* kRunGroup = "Run";
constexpr const char* kOutputGroup = "Output";

void AddOutputFlags(CLI::App& app, Invocation& to) {
  AddSwitch(app, "--json", to.json, "the result as one JSON document on stdout")
      ->group(kOutputGroup);
  AddChoice<LogFormat>(
      app, "--log-format", to.log_format,
      {{"text", LogFormat::kText}, {"tf", LogFormat::kTensorFlow}, {"json", LogFormat::kJson}},
      "text, tf (TensorFlow's lines) or json")
      ->group(kOutputGroup);
  AddSwitch(app, "-q,--quiet", to.quiet, "warnings and errors only")->group(kOutputGroup);
  AddSwitch(app, "-v,--verbose", to.verbose, "details too")->group(kOutputGroup);
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
  AddText(app, "--model-dir", to.model_dir, "DIR", "the run's folder (run_config.model_dir)")
      ->group(kRunGroup);
  app.add_option("--set-file", to.set_files,
                 "a YAML file whose keys go over the job's; may be repeated")
      ->option_text("FILE")
      ->allow_extra_args(false)
      ->group(kRunGroup);
  AddText(app, "-C", to.directory, "DIR", "change to this folder first")->group(kRunGroup);
  AddInteger(app, "--threads", to.threads, 1, "step threads; the bits do not depend on it")
      ->group(kRunGroup);
  AddDevice(app, to);
}

void AddPredictionFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--input", to.input, "FILE|-",
          "rows in the place of predict.input_fn's file, labels not needed; -: CSV on stdin");
  AddText(app, "--output", to.output, "FILE|-", "where the predictions go; -: stdout");
  AddChoice<std::optional<std::string>>(app, "--format", to.format,
                                        {{"jsonl", "jsonl"}, {"csv", "csv"}},
                                        "a JSON object or a CSV line a prediction");
  AddInteger(app, "--limit", to.limit, 0, "rows");
}

void AddSavedModelFlags(CLI::App& app, Invocation& to) {
  AddChoice<std::optional<int64_t>>(app, "--api-version", to.api_version, {{"1", 1}, {"2", 2}},
                                    "of the TPU's MetaGraph (export_saved_model_api_version)");
  AddText(app, "--export-dir", to.export_dir, "DIR",
          "gets a folder an export (export.export_dir_base)");
  AddInteger(app, "--verify", to.verify, 0,
             "read back and compare on so many records (export.verify)");
}

void AddCheckpointFlag(CLI::App& app, Invocation& to) {
  AddText(app, "--checkpoint", to.checkpoint, "PATH|STEP|latest|best",
          "a prefix, a step, a model_dir, latest or best; the job may then be left out");
}

void AddFoldFlag(CLI::App& app, Invocation& to) {
  AddText(
      app, "--fold", to.fold, "I/N",
      "cross-validation: trains on all but the I-th of N parts of the records, evaluates on it, "
      "in MODEL_DIR/fold_I_of_N (tpuest.fold)");
}

void AddNameFlag(CLI::App& app, Invocation& to) {
  AddText(app, "--name", to.name, "NAME", "events go to eval_NAME/");
}

}  // namespace

void AddCommonFlags(CLI::App& app, Invocation& to) {
  AddRunFlags(app, to);
  AddOutputFlags(app, to);
}

void AddTrainFlags(CLI::App& app, Invocation& to) { AddFoldFlag(app, to); }

void AddEvaluateFlags(CLI::App& app, Invocation& to) {
  AddFoldFlag(app, to);
  AddText(app, "--checkpoint", to.checkpoint, "PATH|STEP|latest|best|all",
          "a prefix, a step, a model_dir, latest, best or all; the job may then be left out");
  AddNameFlag(app, to);
  app.add_option("--fail-if", to.fail_if,
                 "exit code 8 if this holds, as 'accuracy<0.9'; may be repeated")
      ->option_text("METRIC<NUMBER")
      ->allow_extra_args(false);
  AddSwitch(app, "--follow", to.follow, "the newest checkpoints of a run, until it is over");
}

void AddPredictFlags(CLI::App& app, Invocation& to) {
  AddCheckpointFlag(app, to);
  AddPredictionFlags(app, to);
}

void AddExportFlags(CLI::App& app, Invocation& to) {
  AddCheckpointFlag(app, to);
  AddSavedModelFlags(app, to);
}

void AddRunJobFlags(CLI::App& app, Invocation& to) {
  AddCheckpointFlag(app, to);
  AddNameFlag(app, to);
  AddPredictionFlags(app, to);
  AddSavedModelFlags(app, to);
}

void AddPlanFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--compile", to.compile, "TOPOLOGY",
          "compile the training step for a TPU that is not there, as v5e:2x2");
  AddText(app, "--dump-hlo", to.dump_hlo, "FILE", "write the training step as StableHLO");
}

void AddConfigFlags(CLI::App& app, Invocation& to) {
  AddSwitch(app, "--minimal", to.minimal, "of show: what differs from the defaults");
  AddSwitch(app, "--full", to.full, "of show: every value, with its origin");
  AddSwitch(app, "--explain", to.explain,
            "of show: keys (or those named) with origin, meaning and what they were put over");
}

void AddInspectFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--value", to.inspect.value, "NAME", "print this variable's values");
  AddText(app, "--diff", to.inspect.diff, "OTHER", "what is different in another checkpoint");
  AddSwitch(app, "--verify", to.inspect.verify,
            "of a TFRecord file: every damaged record, not only the first");
  AddInteger(app, "--head", to.inspect.head, 0, "of a TFRecord file: print so many records");
}

void AddBenchFlags(CLI::App& app, Invocation& to) {
  AddInteger(app, "--seconds", to.bench.seconds, 1, "to measure for; 5 unless said");
}

void AddMigrateFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--output", to.output, "FILE", "the job; the folder's name with .yaml if absent");
  AddSwitch(app, "--force", to.force, "overwrite the job file");
}

void AddConvertFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--images", to.images, "FILE", "IDX file of images, plain or gz");
  AddText(app, "--labels", to.labels, "FILE", "IDX file of labels, plain or gz");
  AddInteger(app, "--digits", to.digits, 1, "so many drawn digits instead");
  AddInteger(app, "--seed", to.seed, 0, "of the drawn digits");
  AddText(app, "--csv", to.csv, "FILE", "CSV instead: a file, a pattern or -; *.gz is inflated");
  AddText(app, "--column-names", to.column_names, "A,B,...", "of the CSV; without it the header's");
  AddText(app, "--field-delim", to.field_delim, "C", "between the CSV's fields");
  AddText(app, "--na-value", to.na_value, "TEXT", "what counts as an empty field of the CSV");
  AddSwitch(app, "--no-header", to.no_header, "the CSV's first row is a record");
  AddInteger(app, "--skip", to.skip, 0, "records left out at the start");
  AddInteger(app, "--take", to.take, 0, "records written");
  AddChoice<std::optional<std::string>>(app, "--compression", to.compression,
                                        {{"GZIP", "GZIP"}, {"ZLIB", "ZLIB"}},
                                        "of the TFRecord file");
  AddText(app, "--output", to.output, "FILE", "the TFRecord file");
}

void AddCopyFlags(CLI::App& app, Invocation& to) {
  AddSwitch(app, "--force", to.force, "overwrite what is there");
}

void AddInitFlags(CLI::App& app, Invocation& to) {
  AddText(app, "--from", to.from, "FILE", "the CSV file; *.gz is inflated");
  AddText(app, "--label", to.label, "NAME", "the column to learn");
  AddChoice<std::string>(
      app, "--model", to.model,
      {{"linear", "linear"}, {"dnn", "dnn"}, {"combined", "combined"}, {"baseline", "baseline"}},
      "what learns it; linear unless said");
  AddText(app, "--eval", to.eval, "FILE",
          "a file to evaluate on; without it the last fifth of the rows");
  AddText(app, "--column-names", to.column_names, "A,B,...",
          "names of all columns; the header's if absent");
  AddSwitch(app, "--no-header", to.no_header, "the CSV's first row is a record");
  AddText(app, "--output", to.output, "FILE|-",
          "the job; FROM's name with .yaml if absent; -: stdout");
  AddSwitch(app, "--force", to.force, "overwrite the job file");
}

}  // namespace tpuest::cli
