// tpuest export [JOB.yaml] [--format saved_model|keras] [--outputs LAYER] [--api-version 1|2]
// [--export-dir DIR] [--verify N] [--checkpoint ...]

#include <cstdio>

#include "cli/job/export_args.h"
#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/export_keras.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/options/export_options.h"
#include "data/pipeline/serving.h"

namespace tpuest::cli {
namespace {

void DeclareExport(FlagSet& flags, ExportInvocation& to) {
  DeclareCheckpoint(flags, to);
  DeclareAllowOlder(flags, to);
  DeclareExportFlags(flags, to);
  flags.Choice("--format", to.format,
               {{"saved_model", ExportFormat::kSavedModel}, {"keras", ExportFormat::kKeras}},
               "`saved_model`, or `keras`: a .keras archive of a model of layers");
  flags.Repeated("--outputs", to.outputs, "LAYER",
                 "of --format keras: export the model up to this layer; may be repeated");
}

// Turns the flags into overrides of the job's keys, which take precedence over the command line's
// KEY=VALUE words.
Invocation WithKeys(const ExportInvocation& given) {
  Invocation invocation = given;
  const auto add = [&](std::string flag, std::string key, std::string value) {
    invocation.key_flags.push_back({std::move(flag), std::move(key), std::move(value)});
  };
  if (given.api_version) {
    add("--api-version", "export_saved_model_api_version", fmt::format("{}", *given.api_version));
  }
  if (given.export_dir) add("--export-dir", "export.export_dir_base", *given.export_dir);
  if (given.verify) add("--verify", "export.verify", fmt::format("{}", *given.verify));
  return invocation;
}

ExportArgs ArgsOf(Session& session) {
  const Job& job = session.job();
  const ExportOptions& options = job.export_options;
  ExportArgs args = ExportArgsOf(job);
  args.export_dir_base =
      options.export_dir_base.value_or(ExportDir(session.estimator().model_dir()));
  args.checkpoint = session.Checkpoint(options.checkpoint_path);
  args.allow_older = session.allows_older();
  if (options.verify > 0 && args.input_receivers.contains(Mode::kPredict)) {
    args.verify = VerifyArgsOf(job, options.verify);
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

void DeclareExportFlags(FlagSet& flags, ExportFlags& to) {
  flags.Choice<std::optional<int64_t>>(
      "--api-version", to.api_version, {{"1", 1}, {"2", 2}},
      "version of the TPU's MetaGraph (export_saved_model_api_version)");
  flags.Text("--export-dir", to.export_dir, "DIR",
             "parent folder; each export adds a folder (export.export_dir_base)");
  flags.Integer("--verify", to.verify, 0,
                "read the export back and compare it with the model on N records (export.verify)");
}

int Export(const ExportInvocation& given, config::Sources& sources) {
  const Invocation invocation = WithKeys(given);
  if (IsLeftToChief(invocation)) return 0;
  Session session(invocation, sources, SessionUse::kModel);
  return session.Run([&] {
    if (given.format == ExportFormat::kKeras) return ExportKeras(session, given);
    if (!given.outputs.empty()) {
      throw Error(Code::kUsage,
                  "--outputs: applies only to .keras archives; a SavedModel has the outputs of its "
                  "signatures",
                  "--format keras, or leave --outputs out");
    }
    const ExportResult result = session.estimator().ExportSavedModel(ArgsOf(session));
    session.console().Clear();
    if (invocation.json) {
      PrintDocument("export", {{"global_step", result.global_step},
                               {"path", invocation.dry_run ? Json() : Json(result.path)},
                               {"signatures", SignatureFields(result)},
                               {"excluded", result.excluded},
                               {"checkpoint", result.checkpoint}});
    } else if (!invocation.dry_run) {
      fmt::print("{}\n", result.path);
    }
    return 0;
  });
}

Command ExportCommand() {
  return MakeCommand<ExportInvocation>(
      {.name = "export",
       .summary = "write a SavedModel for TensorFlow Serving, or a .keras archive",
       .examples = {"tpuest export --checkpoint runs/mnist",
                    "tpuest export --api-version 2 --checkpoint runs/mnist --verify 100"}},
      DeclareExport, Export);
}

}  // namespace tpuest::cli
