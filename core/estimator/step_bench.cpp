#include "core/estimator/step_bench.h"

#include <algorithm>
#include <map>

#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/train_program.h"

namespace tpuest {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kAlone = 0.5;     // of the time, for the step alone
constexpr double kTogether = 0.4;  // with the input; the rest is for the trace
constexpr int kTracedSteps = 3;
// A call of a program in training.
constexpr double kCallSeconds = 0.05;
constexpr size_t kMostAtOnce = 64;

class Bench {
 public:
  Bench(const PlanArgs& args, const PlannedRun& run)
      : args_(args), run_(run), weights_(args.home.backend, variables_, run.model) {
    InitializeVariables(args.home.backend, *run.model.graph, Which::kAll, kSeed, variables_);
  }

  StepBench Run(BatchStream& stream, double secs) {
    std::optional<Batch> batch = stream.Next();
    if (!batch || RowsOf(*batch) != run_.batch_size) {
      throw Error(Code::kData,
                  fmt::format("the input has no whole batch of {} examples", run_.batch_size));
    }
    StepBench bench;
    bench.step_secs = Alone(*batch, kAlone * secs);
    if (args_.home.device == nullptr) bench.ops = Traced(*batch);
    Together(stream, kTogether * secs, bench);
    return bench;
  }

 private:
  std::shared_ptr<StepProgram> Compile(const std::vector<Shape>& shapes, StepTrace* trace) {
    const RunConfig& config = args_.options.run_config;
    const CompileOptions options{.replicas = run_.replicas,
                                 .threads = ThreadsOf(config),
                                 .seed = kSeed,
                                 .steps_per_call = StepsPerCall(*config.tpu_config.loop),
                                 .device = args_.home.device_options,
                                 .trace = trace};
    StepProgramArgs args = TrainProgramArgs(run_.model, weights_, shapes, options);
    args.broadcast = run_.broadcast;
    return std::make_shared<StepProgram>(args_.home.backends(), variables_, args);
  }

  double Alone(const Batch& batch, double secs) {
    const std::vector<Tensor> inputs = InputsOf(run_.model, batch);
    const std::shared_ptr<StepProgram> program = programs_.For(ShapesOf(inputs));
    const auto at_once = static_cast<size_t>(program->steps_per_call().value_or(1));
    const std::vector<StepFeeds> feeds(at_once, program->Prepare(inputs));
    (void)program->RunDevice(feeds);
    const Clock& clock = args_.home.clock;
    const double begin = clock.Seconds();
    double now = begin;
    int64_t steps = 0;
    do {
      (void)program->RunDevice(feeds);
      steps += static_cast<int64_t>(at_once);
      now = clock.Seconds();
    } while (now - begin < secs);
    const double step_secs = (now - begin) / static_cast<double>(steps);
    whole_calls_ = program->steps_per_call().has_value();
    at_once_ = whole_calls_ ? at_once
                            : static_cast<size_t>(std::clamp(kCallSeconds / step_secs, 1.0,
                                                             static_cast<double>(kMostAtOnce)));
    return step_secs;
  }

  std::vector<OpTime> Traced(const Batch& batch) {
    const std::vector<Tensor> inputs = InputsOf(run_.model, batch);
    StepTrace trace(args_.home.clock);
    const std::shared_ptr<StepProgram> program = Compile(ShapesOf(inputs), &trace);
    const std::vector<StepFeeds> feeds(1, program->Prepare(inputs));
    (void)program->RunDevice(feeds);
    trace.Clear();
    for (int i = 0; i < kTracedSteps; ++i) (void)program->RunDevice(feeds);
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

  // In the thread that reads ahead, as in training.
  StepFeeds PrepareAhead(const Batch& batch) {
    const std::vector<Tensor> inputs = InputsOf(run_.model, batch);
    const std::shared_ptr<StepProgram> program = programs_.Find(ShapesOf(inputs));
    return program ? program->Prepare(inputs) : StepFeeds();
  }

  // As many in a call as training would make: those of the same shapes.
  void RunItems(std::vector<InfeedItem>& items) {
    size_t first = 0;
    while (first < items.size()) {
      const std::vector<Shape> shapes = ShapesOf(InputsOf(run_.model, items[first].batch));
      const std::shared_ptr<StepProgram> program = programs_.For(shapes);
      std::vector<StepFeeds> feeds;
      size_t end = first;
      do {
        InfeedItem& item = items[end++];
        if (item.feeds.empty()) item.feeds = program->Prepare(InputsOf(run_.model, item.batch));
        feeds.push_back(std::move(item.feeds));
      } while (end < items.size() && SameShapes(items[end].batch, items[first].batch));
      (void)program->RunDevice(feeds);
      first = end;
    }
  }

  void Together(BatchStream& stream, double secs, StepBench& bench) {
    const Clock& clock = args_.home.clock;
    Infeed infeed({.stream = stream,
                   .clock = clock,
                   .stop = args_.home.stop,
                   .prepare = [this](const Batch& batch) { return PrepareAhead(batch); }});
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

  const PlanArgs& args_;
  const PlannedRun& run_;
  size_t at_once_ = 1;        // steps of a call
  bool whole_calls_ = false;  // the program wants all of them at once
  VariableStore variables_;
  WeightSummaries weights_;
  StepPrograms programs_{
      [this](const std::vector<Shape>& shapes) { return Compile(shapes, nullptr); }};
};

}  // namespace

StepBench BenchStep(const PlanArgs& args, const PlannedRun& run, BatchStream& stream, double secs) {
  return Bench(args, run).Run(stream, secs);
}

}  // namespace tpuest
