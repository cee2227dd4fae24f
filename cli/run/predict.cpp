// tpuest predict [JOB.yaml] [--checkpoint ...] [--input FILE|-] [--output FILE|-]
//   [--format jsonl|csv|tfrecord] [--keep-columns NAME,...] [--limit N]

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/prediction_writer.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "cli/run/untrained.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/hooks/hook_factory.h"
#include "data/pipeline/input_fn.h"
#include "data/pipeline/other_file.h"
#include "data/sources/live_source.h"

namespace tpuest::cli {
namespace {

void DeclarePredict(FlagSet& flags, PredictInvocation& to) {
  DeclareCheckpoint(flags, to);
  DeclareAllowOlder(flags, to);
  DeclareUntrained(flags, to);
  DeclarePredictionFlags(flags, to);
  const auto keep = [&to](const std::string& names) -> std::optional<std::string> {
    to.key_flags.push_back({"--keep-columns", "predict.forward_features", "[" + names + "]"});
    return std::nullopt;
  };
  flags.Checked("--keep-columns", keep, "NAME[,NAME...]",
                "columns of the input to write beside the predictions, such as ids or labels "
                "(predict.forward_features)");
}

std::string InputName(const Job& job) {
  if (job.predict.input_fn) return *job.predict.input_fn;
  if (job.eval_spec) return EvalSpecsOf(job)[0].spec->input_fn;
  throw Error(Code::kUsage, "predict needs an input_fn", "predict: {input_fn: test}");
}

// Runs `body`. An Error about the source at `key` points at the argument of --input instead, which
// replaces that source's files.
template <class F>
auto AtInput(const std::string& file, const std::string& key, config::Sources& sources, F body) {
  constexpr const char* kFlag = "--input";
  try {
    return body();
  } catch (const Error& error) {
    std::vector<Fault> faults = error.faults();
    for (Fault& fault : faults) {
      if (fault.key != key && !fault.key.starts_with(key + ".")) continue;
      fault.key.clear();
      fault.place = {kFlag, sources.AddLine(kFlag, file), 1};
      fault.width = static_cast<int>(file.size());
      if (!FileExists(file)) fault.hint.clear();
    }
    throw Error(error.code(), std::move(faults));
  }
}

// Returns the rows of the job's input, or of `file`. `sources` locates errors of reading.
InputFn PredictInput(const Job& job, const std::optional<std::string>& file,
                     config::Sources& sources) {
  const std::string name = InputName(job);
  if (!file) return MakeJobInputFn(job, name, job.predict.forward_features);
  const std::string key = fmt::format("input_fns.{}.source", name);
  InputFn input = AtInput(*file, key, sources, [&] {
    data::InputFnOptions options = job.input_fns.at(name);
    options.forwarded = job.predict.forward_features;
    data::InputFnOptions other = data::WithFile(std::move(options), *file, name);
    const bool is_live = *file == "-" && other.stages.empty() && data::IsLive(other.source);
    return is_live ? data::MakeLiveInputFn(std::move(other), name)
                   : data::MakeInputFn(std::move(other), name);
  });
  return [input = std::move(input), file = *file, key, &sources](const InputContext& context) {
    return AtInput(file, key, sources, [&] { return input(context); });
  };
}

bool Ends(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return EndsWith(path, ending); });
}

// A flag takes precedence over the job, and a stated format over the path's ending.
std::string FormatFor(const PredictInvocation& invocation, const PredictOutput& output,
                      const std::string& path) {
  if (invocation.format) return *invocation.format;
  const bool is_csv = Ends(path, {".csv"});
  const bool is_jsonl = Ends(path, {".jsonl", ".json", ".ndjson"});
  const bool is_records = Ends(path, {".tfrecord", ".tfrecords"});
  std::string by_ending = is_csv ? "csv" : is_records ? "tfrecord" : "jsonl";
  if (invocation.output && (is_csv || is_jsonl || is_records)) return by_ending;
  return output.format.value_or(by_ending);
}

void CheckOutput(const PredictInvocation& invocation, const std::string& path) {
  if (DirectoryExists(path)) {
    throw Error(Code::kUsage, fmt::format("{}: is a folder, expected a file", path),
                "--output FILE, or - for stdout");
  }
  if (Ends(path, {".gz"})) {
    throw Error(
        Code::kUsage,
        fmt::format("{}: predictions are not compressed, so the name must not end in .gz", path),
        "--output predictions.jsonl, predictions.csv or predictions.tfrecord");
  }
  if (invocation.job) CheckNoInput(path, {*invocation.job});
  // Only an output given by flag is protected: the job's own output is overwritten each time.
  if (invocation.output) CheckNewFile(path, invocation.force);
}

// Wraps the input so that it refuses to read the file that the predictions go to.
InputFn KeptInput(InputFn input, std::string output) {
  return [input = std::move(input), output = std::move(output)](const InputContext& context) {
    std::unique_ptr<BatchStream> stream = input(context);
    CheckNoInput(output, stream->files());
    return stream;
  };
}

}  // namespace

void DeclarePredictionFlags(FlagSet& flags, PredictionFlags& to) {
  flags.Text("--input", to.input, "FILE|-",
             "file to read instead of that of predict.input_fn, labels not needed; `-` reads rows "
             "from stdin as they arrive");
  flags.Text("--output", to.output, "FILE|-", "file for the predictions; `-` writes to stdout");
  flags.Choice<std::optional<std::string>>(
      "--format", to.format, {{"jsonl", "jsonl"}, {"csv", "csv"}, {"tfrecord", "tfrecord"}},
      "write each prediction as a JSON object, a CSV line or a tf.Example; default: taken from the "
      "output's ending");
  flags.Switch("--force", to.force, "overwrite the output file");
  flags.Integer("--limit", to.limit, 0, "predict at most N rows");
}

int Predict(const PredictInvocation& given, config::Sources& sources) {
  PredictInvocation invocation = given;
  // Only one process can read the standard input.
  invocation.by_itself = invocation.by_itself || invocation.input == "-";
  if (IsLeftToChief(invocation, sources)) return 0;
  Session session(invocation, sources, SessionUse::kModel);
  if (session.is_worker()) {
    return session.FollowChief({.predict = PredictInput(session.job(), invocation.input, sources)});
  }
  return session.Run([&] {
    const PredictOptions& options = session.job().predict;
    const std::string path = invocation.output.value_or(options.output.path);
    if (path == "-" && invocation.json && !invocation.dry_run) {
      throw Error(Code::kUsage, "--json and the predictions cannot both go to stdout",
                  "write the predictions to a file: --output predictions.jsonl");
    }
    const std::string format = FormatFor(invocation, options.output, path);
    if (format == "csv" && !options.yield_single_examples) {
      throw Error(Code::kUsage, "a line of CSV is one example, but yield_single_examples is false",
                  "--format jsonl writes one line per batch")
          .Key("predict.yield_single_examples");
    }
    CheckOutput(invocation, path);
    (void)InputName(session.job());
    CheckTrained(session, invocation, "predict with");
    std::optional<PredictionWriter> writer;
    if (!invocation.dry_run) writer.emplace(path, format, options.predict_keys.has_value());
    PredictArgs args;
    args.checkpoint = session.Checkpoint(options.checkpoint_path);
    args.allow_older = session.allows_older();
    args.predict_keys = options.predict_keys.value_or(std::vector<std::string>());
    args.yield_single_examples = options.yield_single_examples;
    args.limit = invocation.limit;
    const JobHooks hooks = MakeHooks(options.hooks);
    args.hooks = hooks.hooks();
    const PredictResult result = session.estimator().Predict(
        KeptInput(PredictInput(session.job(), invocation.input, sources), path), args,
        [&](const PredictionRow& row) { return writer->Write(row); });
    // The file appears only after a prediction that ran to its end, so that an existing file is
    // complete.
    if (result.exit_code == 0 && writer) writer->Close();
    session.log().Info("{} predictions: {}", result.examples, result.stopped_because);
    session.console().Clear();
    if (invocation.json) {
      Json fields = {{"global_step", result.global_step},
                     {"examples", result.examples},
                     {"stopped_because", result.stopped_because},
                     {"path", path},
                     {"checkpoint", result.checkpoint}};
      if (result.checkpoint.empty() && IsUntrained(session)) fields["untrained"] = true;
      PrintDocument("predict", fields);
    }
    return result.exit_code;
  });
}

Command PredictCommand() {
  return MakeCommand<PredictInvocation>(
      {.name = "predict",
       .summary = "predict with a checkpoint",
       .examples = {"tpuest predict --checkpoint runs/mnist --limit 3",
                    "tpuest predict --checkpoint runs/mnist --input new.csv --output p.csv"}},
      DeclarePredict, Predict);
}

}  // namespace tpuest::cli
