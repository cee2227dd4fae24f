// tpuest export [JOB.yaml] [--api-version 1|2] [--export-dir DIR] [--verify N] [--checkpoint ...]

#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/estimator/export_options.h"
#include "core/estimator/serving.h"
#include "data/serving.h"

namespace tpuest::cli {
namespace {

StreamSpec SpecOf(const Job& job, const std::string& input_fn, Mode mode) {
  return MakeJobInputFn(job, input_fn)({.mode = mode})->spec();
}

// The receiver for serving: as the job says, or by what the input parses.
ServingInputReceiverFn ServingReceiver(const Job& job, const std::string& input_fn) {
  const InputFnOptions& input = job.input_fns.at(input_fn);
  const AnyReceiver receiver = job.export_options.serving_input_receiver_fn.value_or(
      input.parse_example.empty() ? AnyReceiver(RawReceiver()) : AnyReceiver(ParsingReceiver()));
  const std::optional<int64_t> batch_size =
      std::visit([](const ReceiverOptions& r) { return r.default_batch_size; }, receiver);
  if (std::holds_alternative<RawReceiver>(receiver)) {
    return RawServingInputReceiverFn(SpecOf(job, input_fn, Mode::kPredict).features, batch_size);
  }
  ServingInputReceiverFn parsing = ParsingServingInputReceiverFn(input, input_fn, batch_size);
  return std::holds_alternative<BothReceivers>(receiver) ? WithRawAlternative(std::move(parsing))
                                                         : parsing;
}

ServingInputReceiverFn SupervisedReceiver(const Job& job, Mode mode) {
  const bool trains = mode == Mode::kTrain;
  if (trains ? !job.train_spec : !job.eval_spec) {
    throw Error(Code::kUsage,
                fmt::format("exporting mode {} needs {}", trains ? "TRAIN" : "EVAL",
                            trains ? "a train_spec" : "an eval_spec"),
                "its input_fn says what the model takes")
        .Key("export.experimental_mode");
  }
  return RawSupervisedInputReceiverFn(
      SpecOf(job, trains ? job.train_spec->input_fn : job.eval_spec->input_fn, mode));
}

ExportArgs ArgsOf(Session& session) {
  const Job& job = session.job();
  const ExportOptions& options = job.export_options;
  ExportArgs args{.export_dir_base = options.export_dir_base.value_or(
                      JoinPath(session.estimator().model_dir(), "export")),
                  .checkpoint = session.Checkpoint(options.checkpoint_path),
                  .assets_extra = options.assets_extra,
                  .as_text = options.as_text,
                  .strip_default_attrs = options.strip_default_attrs,
                  .batch_config = options.Batching()};
  for (const Mode mode : options.Modes()) {
    args.input_receivers[mode] = mode == Mode::kPredict ? ServingReceiver(job, ServedInput(job))
                                                        : SupervisedReceiver(job, mode);
  }
  if (options.verify > 0 && args.input_receivers.contains(Mode::kPredict)) {
    const std::string input = ServedInput(job);
    args.verify =
        VerifyArgs{.records = options.verify,
                   .input_fn = MakeJobInputFn(job, input),
                   .serialized_input_fn = SerializedInputFn(job.input_fns.at(input), input)};
  }
  return args;
}

Json SignatureFields(const ExportResult& result) {
  Json signatures = Json::object();
  for (const ExportedSignature& signature : result.signatures) {
    Json& entry = signatures[signature.key];
    if (entry.is_null()) {
      entry = {{"method_name", signature.method_name},
               {"inputs", signature.inputs},
               {"outputs", signature.outputs},
               {"tags", Json::array()}};
    }
    entry["tags"].push_back(signature.tags);
  }
  return signatures;
}

}  // namespace

int Export(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& sources) {
    Session session(invocation, sources);
    return session.Run([&] {
      const ExportResult result = session.estimator().ExportSavedModel(ArgsOf(session));
      session.console().Clear();
      if (invocation.json) {
        PrintDocument("export", {{"global_step", result.global_step},
                                 {"path", result.path},
                                 {"signatures", SignatureFields(result)},
                                 {"excluded", result.excluded},
                                 {"checkpoint", result.checkpoint}});
      } else {
        fmt::print("{}\n", result.path);
      }
      return 0;
    });
  });
}

}  // namespace tpuest::cli
