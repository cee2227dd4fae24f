// tpuest replay RUN --step N|A:B: which records a run's steps were trained on

#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "cli/look/commands.h"
#include "cli/look/rerun.h"
#include "cli/run/record/series.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/estimator/contract/wrapped_stream.h"
#include "core/estimator/step/first_not_finite.h"

namespace tpuest::cli {
namespace {

constexpr const char* kExample = "tpuest replay runs/mnist --step 4217";

struct ReplayInvocation : Invocation {
  std::optional<std::string> step;  // "7", or "7:9"
};

void Declare(FlagSet& flags, ReplayInvocation& to) {
  flags.Text("--step", to.step, "N|A:B", "step, or range of steps from A to B, to train again");
}

struct Steps {
  int64_t first = 0;
  int64_t last = 0;
};

Steps ParseSteps(const std::optional<std::string>& given) {
  if (!given) throw Error(Code::kUsage, "replay needs a step", kExample);
  const size_t colon = given->find(':');
  const auto first = WholeNumber<int64_t>(std::string_view(*given).substr(0, colon));
  const auto last = colon == std::string::npos
                        ? first
                        : WholeNumber<int64_t>(std::string_view(*given).substr(colon + 1));
  if (first && last && *first >= 1 && *last >= *first) return {*first, *last};
  throw Error(Code::kUsage,
              fmt::format("--step: expected a step of at least 1, or A:B, found '{}'", *given),
              kExample);
}

// One row of a batch.
struct ReplayedRow {
  std::string file;
  int64_t record = 0;
  Json id;  // the record's id; null: the input_fn carries none along
};

struct ReplayedStep {
  int64_t step = 0;
  float loss = 0;
  std::optional<float> learning_rate;
  std::vector<ReplayedRow> rows;
  std::optional<NotFiniteTensor> not_finite;  // of a step that diverged, where its numbers began to
};

// Keeps the wanted steps' batches until they are made, and their rows; the stream is asked from
// another thread.
class RowLog {
 public:
  // The stream's first batch is that of the step after `start`.
  RowLog(int64_t start, Steps wanted) : step_(start), wanted_(wanted) {}

  void Add(const Batch& batch, const std::vector<std::string>& files) {
    const std::lock_guard lock(mutex_);
    ++step_;
    if (step_ < wanted_.first || step_ > wanted_.last) return;
    batches_[step_] = batch;
    std::vector<ReplayedRow>& rows = rows_[step_];
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      const Provenance& from = batch.rows[i];
      ReplayedRow& row = rows.emplace_back();
      const auto file = static_cast<size_t>(from.file);
      if (file < files.size()) row.file = files[file];
      row.record = from.record;
      for (const auto& [name, column] : batch.forwarded) {
        const auto at = static_cast<int64_t>(i);
        row.id = JsonOf(column.Rows(at, at + 1))[0];
      }
    }
  }
  void Made(int64_t step) {
    const std::lock_guard lock(mutex_);
    batches_.erase(batches_.begin(), batches_.upper_bound(step));
  }
  // The batch of a step that was not made; nullopt: none was read for it.
  [[nodiscard]] std::optional<Batch> BatchOf(int64_t step) {
    const std::lock_guard lock(mutex_);
    const auto found = batches_.find(step);
    return found == batches_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::vector<ReplayedRow> Take(int64_t step) {
    const std::lock_guard lock(mutex_);
    return std::move(rows_[step]);
  }

 private:
  std::mutex mutex_;
  int64_t step_;
  Steps wanted_;
  std::map<int64_t, std::vector<ReplayedRow>> rows_;
  std::map<int64_t, Batch> batches_;
};

class LoggedStream final : public WrappedStream {
 public:
  LoggedStream(std::unique_ptr<BatchStream> of, RowLog& log, StreamSpec& spec)
      : WrappedStream(std::move(of)), log_(log) {
    spec = this->of().spec();
  }
  std::optional<Batch> Next() override {
    std::optional<Batch> batch = of().Next();
    if (batch) log_.Add(*batch, files());
    return batch;
  }

 private:
  RowLog& log_;
};

// Keeps the losses of the steps, also a non-finite one, which is the reason for many replays.
class StepLog final : public SessionRunHook {
 public:
  StepLog(Steps wanted, RowLog& rows) : wanted_(wanted), rows_(rows) {}
  void AfterRun(RunContext& /*context*/, const RunValues& values) override {
    for (const StepRecord& record : values.steps) {
      rows_.Made(record.step);
      Keep({record.step, record.loss, record.learning_rate, {}});
    }
    if (values.diverged) Keep({values.global_step + 1, values.diverged->loss, {}, {}});
  }
  [[nodiscard]] std::vector<ReplayedStep>& steps() { return steps_; }

 private:
  void Keep(ReplayedStep step) {
    if (step.step >= wanted_.first && step.step <= wanted_.last) steps_.push_back(std::move(step));
  }

  Steps wanted_;
  RowLog& rows_;
  std::vector<ReplayedStep> steps_;
};

// The losses that the run has logged, by global step.
std::map<int64_t, double> LoggedLosses(const std::string& model_dir) {
  std::map<int64_t, double> losses;
  const RunSeries series = ReadRunSeries(model_dir);
  const Series* const logged = series.Named("train/loss");
  if (logged == nullptr) return losses;
  for (const SeriesPoint& point : logged->points) losses[point.step] = point.value;
  return losses;
}

struct Replayed {
  std::optional<std::string> from;  // the checkpoint's prefix; nullopt: the run's start
  std::vector<ReplayedStep> steps;
  std::map<int64_t, double> logged;

  // Tells whether the loss is the one that the run has logged; nullopt: it has logged none.
  [[nodiscard]] std::optional<bool> IsAsLogged(const ReplayedStep& step) const {
    const auto found = logged.find(step.step);
    if (found == logged.end()) return std::nullopt;
    return static_cast<float>(found->second) == step.loss ||
           (std::isnan(found->second) && !std::isfinite(step.loss));
  }
};

Json NotFiniteJson(const NotFiniteTensor& tensor) {
  return {{"node", tensor.node},       {"op", tensor.op},     {"file", tensor.place.file},
          {"line", tensor.place.line}, {"kind", tensor.kind}, {"shape", tensor.shape},
          {"rows", tensor.rows}};
}

// "MatMul 'dense/MatMul' [4,1] is the first that is not finite: NaN in rows 1 and 3 (job.yaml:14)".
std::string NotFiniteText(const NotFiniteTensor& tensor) {
  constexpr size_t kMostRows = 8;
  std::vector<std::string> rows;
  for (const int64_t row : tensor.rows) {
    rows.push_back(rows.size() < kMostRows ? std::to_string(row) : "...");
    if (rows.size() > kMostRows) break;
  }
  const std::string where =
      tensor.place.line > 0 ? fmt::format(" ({}:{})", tensor.place.file, tensor.place.line) : "";
  return fmt::format("{} '{}' {} is the first non-finite result: {}{}{}", tensor.op, tensor.node,
                     tensor.shape, tensor.kind,
                     rows.empty()       ? ""
                     : rows.size() == 1 ? " in row " + rows[0]
                                        : " in rows " + Join(rows, ", "),
                     where);
}

Json ReplayJson(const Replayed& replayed) {
  Json steps = Json::array();
  for (const ReplayedStep& step : replayed.steps) {
    Json rows = Json::array();
    for (const ReplayedRow& row : step.rows) {
      rows.push_back({{"file", row.file}, {"record", row.record}, {"id", row.id}});
    }
    steps.push_back(
        {{"step", step.step},
         {"loss", JsonNumber(step.loss)},
         {"as_logged", OrNull(replayed.IsAsLogged(step))},
         {"learning_rate", step.learning_rate ? JsonNumber(*step.learning_rate) : Json()},
         {"rows", rows},
         {"not_finite", step.not_finite ? NotFiniteJson(*step.not_finite) : Json()}});
  }
  return {{"global_step", replayed.steps.empty() ? Json() : Json(replayed.steps.back().step)},
          {"from", OrNull(replayed.from)},
          {"steps", steps}};
}

void PrintStep(const Replayed& replayed, const ReplayedStep& step) {
  const std::optional<bool> is_as_logged = replayed.IsAsLogged(step);
  fmt::print("step {}: loss {}{}\n", WithCommas(step.step), JsonNumber(step.loss).dump(),
             !is_as_logged ? ""
             : *is_as_logged
                 ? ", as logged"
                 : fmt::format(", logged as {}", NumberText(replayed.logged.at(step.step))));
  if (step.not_finite) fmt::print("{}\n", NotFiniteText(*step.not_finite));
  std::vector<std::vector<std::string>> table = {{"  row", "record", "id", "file"}};
  for (const ReplayedRow& row : step.rows) {
    table.push_back({fmt::format("{}", table.size() - 1), fmt::format("{}", row.record),
                     row.id.is_null() ? "" : row.id.dump(), row.file});
  }
  fmt::print("{}", TableText({true, true, true, false}, table));
}

// Finds the first non-finite tensor of the step that diverged, by computing it again with the
// variables of the step before it.
std::optional<NotFiniteTensor> NotFiniteIn(Rerun& rerun, RowLog& rows, const StreamSpec& spec,
                                           int64_t step) {
  const std::optional<Batch> batch = rows.BatchOf(step);
  if (!batch) return std::nullopt;
  if (rerun.start() < step - 1 && rerun.TrainTo(step - 1) != step - 1) return std::nullopt;
  return rerun.session().estimator().FindNotFinite(spec, *batch);
}

Replayed Replay(const ReplayInvocation& invocation, config::Sources& sources) {
  const Steps wanted = ParseSteps(invocation.step);
  const NamedRun run = RunOf(invocation);
  Replayed replayed;
  replayed.from = run.checkpoint ? run.checkpoint : CheckpointBefore(run.model_dir, wanted.first);
  replayed.logged = LoggedLosses(run.model_dir);
  Rerun rerun(invocation, run, replayed.from, sources);
  if (rerun.start() >= wanted.first) {
    throw Error(Code::kUsage,
                fmt::format("{} is a checkpoint of step {}, which is not before step {}",
                            *replayed.from, rerun.start(), wanted.first),
                "name an earlier checkpoint, or the run for its newest one before the step");
  }
  RowLog rows(rerun.start(), wanted);
  StepLog steps(wanted, rows);
  StreamSpec spec;
  int64_t reached = 0;
  try {
    reached = rerun.TrainTo(wanted.last, &steps, [&](std::unique_ptr<BatchStream> stream) {
      return std::make_unique<LoggedStream>(std::move(stream), rows, spec);
    });
  } catch (const Error& error) {
    if (error.code() != Code::kDiverged || steps.steps().empty()) throw;
    reached = steps.steps().back().step;
    steps.steps().back().not_finite = NotFiniteIn(rerun, rows, spec, reached);
  }
  if (invocation.dry_run) {
    rerun.session().log().Info("Dry run: step {} would be trained again from {}",
                               WithCommas(wanted.first),
                               replayed.from ? *replayed.from : "the run's start");
    return replayed;
  }
  replayed.steps = std::move(steps.steps());
  if (replayed.steps.empty()) {
    throw Error(
        Code::kUsage,
        fmt::format("the run ends with step {}, so it has no step {}", reached, wanted.first),
        "KEY=VALUE overrides the job's values: max_steps=...");
  }
  if (reached < wanted.last) {
    rerun.session().log().Warning("the run ends with step {}, before step {}", reached,
                                  wanted.last);
  }
  for (ReplayedStep& step : replayed.steps) step.rows = rows.Take(step.step);
  return replayed;
}

int RunReplay(const ReplayInvocation& invocation, config::Sources& sources) {
  const Replayed replayed = Replay(invocation, sources);
  if (invocation.json) {
    PrintDocument("replay", ReplayJson(replayed));
  } else {
    for (const ReplayedStep& step : replayed.steps) PrintStep(replayed, step);
  }
  return 0;
}

}  // namespace

Command ReplayCommand() {
  return MakeCommand<ReplayInvocation>(
      {.name = "replay",
       .summary = "train steps of a run again and list the records in their batches",
       .examples = {kExample, "tpuest replay runs/mnist --step 480:500 --json"},
       .takes = Takes::kRun},
      Declare, RunReplay);
}

}  // namespace tpuest::cli
