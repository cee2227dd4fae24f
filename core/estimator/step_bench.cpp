#include "core/estimator/step_bench.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/contract/filled_up.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/train_step.h"

namespace tpuest {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kAlone = 0.5;     // the fraction of the time for steps without input
constexpr double kTogether = 0.4;  // the fraction with input; the rest is for the trace
constexpr int kTracedSteps = 3;
// The approximate duration of a program's call in training.
constexpr double kCallSeconds = 0.05;
constexpr size_t kMostAtOnce = 64;

EstimatorContext SeededContextOf(const PlanArgs& args) {
  EstimatorContext context = ContextOf(args);
  context.seed = kSeed;
  return context;
}

class Bench {
 public:
  Bench(const PlanArgs& args, const PlannedRun& run)
      : run_(run),
        context_(SeededContextOf(args)),
        step_({.context = context_,
               .variables = variables_,
               .stream = args.stream,
               .model = run.model}) {
    if (args.home.backends().device.keeps_rows()) {
      variables_.tables().KeepRows(KeepingOf(args.options.embeddings));
    }
    InitializeVariables(args.home.backend, *run.model->graph, Which::kAll, kSeed, variables_);
  }

  StepBench Run(BatchStream& stream, double secs) {
    std::optional<Batch> batch = stream.Next();
    if (!batch || RowsOf(*batch) != run_.batch_size) {
      throw Error(Code::kData,
                  fmt::format("the input has no full batch of {} examples", run_.batch_size));
    }
    StepBench bench;
    bench.step_secs = Alone(*batch, kAlone * secs);
    if (context_.home.device == nullptr) bench.ops = Traced(*batch);
    Together(stream, kTogether * secs, bench);
    return bench;
  }

 private:
  double Alone(const Batch& batch, double secs) {
    const auto program = step_.ProgramFor(step_.ShapesOf(batch));
    whole_calls_ = program->steps_per_call().has_value();
    const auto at_once = static_cast<size_t>(program->steps_per_call().value_or(1));
    const InfeedItem item{.batch = batch, .feeds = step_.Prepare(batch)};
    (void)RunCopies(item, at_once);
    double stepped = 0;
    size_t steps = 0;
    while (stepped < secs) {
      stepped += RunCopies(item, at_once);
      steps += at_once;
    }
    const double step_secs = stepped / static_cast<double>(steps);
    at_once_ = whole_calls_ ? at_once
                            : static_cast<size_t>(std::clamp(kCallSeconds / step_secs, 1.0,
                                                             static_cast<double>(kMostAtOnce)));
    return step_secs;
  }

  // Runs `count` steps on one batch in one call and returns the seconds.
  double RunCopies(const InfeedItem& item, size_t count, StepTrace* trace = nullptr) {
    std::vector<InfeedItem> items(count, item);
    return step_.Run(items, {.trace = trace}).seconds();
  }

  std::vector<OpTime> Traced(const Batch& batch) {
    const InfeedItem item{.batch = batch, .feeds = step_.Prepare(batch)};
    StepTrace trace(context_.home.clock);
    (void)RunCopies(item, 1, &trace);
    trace.Clear();
    (void)RunCopies(item, kTracedSteps, &trace);
    return OpTimesOf(trace);
  }

  static std::vector<OpTime> OpTimesOf(const StepTrace& trace) {
    std::map<std::string, OpTime> by_op;
    double sum = 0;
    for (const StepTrace::Event& event : trace.events()) {
      OpTime& time = by_op[event.op];
      time.op = event.op;
      time.secs += (event.end - event.begin) / kTracedSteps;
      ++time.calls;
      sum += (event.end - event.begin) / kTracedSteps;
    }
    std::vector<OpTime> ops;
    for (auto& [op, time] : by_op) {
      time.share = sum > 0 ? time.secs / sum : 0;
      time.calls /= kTracedSteps;
      ops.push_back(time);
    }
    std::sort(ops.begin(), ops.end(),
              [](const OpTime& a, const OpTime& b) { return a.secs > b.secs; });
    return ops;
  }

  // Runs steps on all items, with as many steps per call as in training.
  void RunItems(std::vector<InfeedItem>& items) {
    std::span<InfeedItem> left(items);
    while (!left.empty()) left = left.subspan(step_.Run(left, {}).size());
  }

  void Together(BatchStream& stream, double secs, StepBench& bench) {
    const Clock& clock = context_.home.clock;
    Infeed infeed({.stream = stream, .clock = clock, .stop = context_.home.stop, .step = &step_});
    const double begin = clock.Seconds();
    double now = begin;
    int64_t steps = 0;
    do {
      std::vector<InfeedItem> items = infeed.Take(at_once_, whole_calls_);
      if (items.empty() || RowsOf(items.back().batch) != run_.batch_size) break;
      RunItems(items);
      steps += static_cast<int64_t>(items.size());
      now = clock.Seconds();
    } while (now - begin < secs);
    if (steps == 0) return;
    bench.together_secs = (now - begin) / static_cast<double>(steps);
    bench.waited = std::clamp(infeed.waited() / std::max(now - begin, 1e-9), 0.0, 1.0);
  }

  const PlannedRun& run_;
  const EstimatorContext context_;
  size_t at_once_ = 1;        // steps per call
  bool whole_calls_ = false;  // the program requires all of them in one call
  VariableStore variables_;
  TrainStep step_;
};

}  // namespace

StepBench BenchStep(const PlanArgs& args, const PlannedRun& run,
                    std::unique_ptr<BatchStream> stream, double secs) {
  const int64_t rows = ContextOf(args).InputBatchSize(Mode::kTrain);
  if (run.model->has_example_weight) stream = FilledUp(std::move(stream), rows, run.batch_size);
  return Bench(args, run).Run(*stream, secs);
}

}  // namespace tpuest
