#include "cli/job/fold.h"

#include "cli/job/job.h"
#include "core/base/whole_number.h"

namespace tpuest::cli {
namespace {

void CheckFold(const data::FoldOptions& fold) {
  if (fold.count < 2) {
    throw Error(Code::kUsage,
                fmt::format("the number of folds is {}; expected at least 2", fold.count))
        .Key("tpuest.fold.count");
  }
  if (fold.index < 1 || fold.index > fold.count) {
    throw Error(Code::kUsage,
                fmt::format("fold {} does not exist; expected 1 to {}", fold.index, fold.count))
        .Key("tpuest.fold.index");
  }
}

}  // namespace

void ApplyFold(Job& job) {
  if (!job.tpuest.fold || !job.train_spec) return;
  CheckFold(*job.tpuest.fold);
  const auto train = job.input_fns.find(job.train_spec->input_fn);
  if (train == job.input_fns.end()) return;  // ValidateJob reports it
  train->second.fold = data::FoldPart{*job.tpuest.fold, false};
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    if (named.spec->input_fn == train->first) {
      throw Error(
          Code::kUsage, "tpuest.fold: train_spec and eval_spec share an input_fn",
          "give eval_spec a separate input_fn, which then reads the fold of train_spec's source")
          .Key("eval_spec.input_fn");
    }
    const auto eval = job.input_fns.find(named.spec->input_fn);
    if (eval == job.input_fns.end()) continue;
    eval->second.source = train->second.source;
    eval->second.parse_example = train->second.parse_example;
    eval->second.parse_sequence_example = train->second.parse_sequence_example;
    eval->second.fold = data::FoldPart{*job.tpuest.fold, true};
  }
}

data::FoldOptions ParseFold(const std::string& text) {
  const std::vector<std::string> parts = Split(text, '/');
  if (parts.size() == 2) {
    const auto index = WholeNumber<decltype(data::FoldOptions::index)>(parts[0]);
    const auto count = WholeNumber<decltype(data::FoldOptions::count)>(parts[1]);
    if (index && count) return {.index = *index, .count = *count};
  }
  throw Error(Code::kUsage, fmt::format("--fold: expected I/N, found '{}'", text),
              "--fold 1/5 trains on four fifths and evaluates on the first");
}

std::string FoldFolder(const data::FoldOptions& fold) {
  return fmt::format("fold_{}_of_{}", fold.index, fold.count);
}

}  // namespace tpuest::cli
