// tpuest export [JOB.yaml] [--api-version 1|2] [--export-dir DIR] [--verify N] [--checkpoint ...]

#include <cstdio>

#include "cli/commands.h"
#include "cli/export_args.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/files.h"
#include "core/estimator/export_options.h"
#include "data/serving.h"

namespace tpuest::cli {
namespace {

ExportArgs ArgsOf(Session& session) {
  const Job& job = session.job();
  const ExportOptions& options = job.export_options;
  ExportArgs args = ExportArgsOf(job);
  args.export_dir_base =
      options.export_dir_base.value_or(JoinPath(session.estimator().model_dir(), "export"));
  args.checkpoint = session.Checkpoint(options.checkpoint_path);
  if (options.verify > 0 && args.input_receivers.contains(Mode::kPredict)) {
    const std::string input = ServedInput(job);
    args.verify = VerifyArgs{.records = options.verify,
                             .input_fn = MakeJobInputFn(job, input),
                             .serialized_input_fn = SerializedInputFn(job.input_fns.at(input),
                                                                      input, ColumnFeatures(job))};
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
