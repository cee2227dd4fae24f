// tpuest bench step|input|rate JOB.yaml: where the time of training goes, and which learning rate

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "cli/job/device.h"
#include "cli/job/job.h"
#include "cli/job/step_counts.h"
#include "cli/look/commands.h"
#include "cli/look/rate_finder.h"
#include "cli/many/plot/terminal.h"
#include "cli/run/session.h"
#include "cli/shell/console.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/backend/cpu/program.h"
#include "core/base/text.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step_bench.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_bench.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

struct BenchInvocation : Invocation {
  std::optional<int64_t> seconds;
  RateRange rates;
};

// Reads a rate of the command line.
FlagSet::Read RateInto(double& to) {
  return [&to](const std::string& given) -> std::optional<std::string> {
    char* end = nullptr;
    const double rate = std::strtod(given.c_str(), &end);
    const bool is_rate = !given.empty() && *end == '\0' && std::isfinite(rate) && rate > 0;
    if (!is_rate) return "a number above 0";
    to = rate;
    return std::nullopt;
  };
}

void Declare(FlagSet& flags, BenchInvocation& to) {
  flags.Integer("--seconds", to.seconds, 1, "of step and input: seconds to measure; default 5");
  flags.Checked("--from", RateInto(to.rates.from), "RATE",
                "of rate: first learning rate; default 1e-6");
  flags.Checked("--to", RateInto(to.rates.to), "RATE", "of rate: last learning rate; default 10");
  flags.Integer("--steps", to.rates.steps, 20,
                "of rate: number of steps, each with its own rate; default 140");
  flags.Text("--key", to.rates.key, "KEY",
             "of rate: key of the learning rate to raise, needed if a job has several: "
             "model.dnn_optimizer.learning_rate");
}

constexpr size_t kShownOps = 10;
constexpr double kMuchWaiting = 0.1;  // share of a step spent waiting; beyond it the input is slow
constexpr double kWorthIt = 1.1;      // a gain of less than this factor is noise

// Bench measures a run that starts fresh and leaves nothing.
void ForgetFolder(Job& job) {
  job.estimator.run_config.model_dir.reset();
  job.estimator.warm_start_from.reset();
}

double SecondsOf(const BenchInvocation& invocation) {
  return static_cast<double>(invocation.seconds.value_or(5));
}

const std::string& TrainInputName(const Job& job) {
  if (job.train_spec) return job.train_spec->input_fn;
  throw Error(Code::kUsage, "bench needs a train_spec",
              "train_spec: {input_fn: train, max_steps: 1000}");
}

InputContext ContextOf(const Job& job) {
  const int batches = BatchesIn(job.estimator, Mode::kTrain);
  return {.mode = Mode::kTrain,
          .batch_size = job.estimator.train_batch_size.value_or(1) * batches,
          .batches = batches,
          .seed = static_cast<uint64_t>(job.estimator.run_config.tf_random_seed.value_or(1)),
          .threads = ThreadsOf(job.estimator.run_config)};
}

std::string RateText(double rate) { return WithCommas(std::llround(rate)); }
std::string PercentText(double share) { return fmt::format("{:.0f} %", 100 * share); }

// ---- bench input ------------------------------------------------------------------------------

std::string InputVerdict(const data::InputBench& bench) {
  const auto slowest = std::max_element(
      bench.stages.begin(), bench.stages.end(),
      [](const data::StageRate& a, const data::StageRate& b) { return a.share < b.share; });
  std::string text = fmt::format("{} takes {} of the time per example", slowest->stage,
                                 PercentText(slowest->share));
  std::vector<std::string> helpful;
  for (const data::InputVariant& variant : bench.variants) {
    const double times = variant.examples_per_sec / std::max(bench.examples_per_sec, 1e-9);
    if (times >= kWorthIt)
      helpful.push_back(fmt::format("{} makes it {:.1f} times as fast", variant.key, times));
  }
  return helpful.empty() ? text : fmt::format("{}; {}", text, Join(helpful, ", "));
}

Json InputJson(const data::InputBench& bench) {
  Json stages = Json::array();
  for (const data::StageRate& stage : bench.stages) {
    stages.push_back({{"stage", stage.stage},
                      {"examples_per_sec", stage.examples_per_sec},
                      {"share", stage.share}});
  }
  Json variants = Json::object();
  for (const data::InputVariant& variant : bench.variants)
    variants[variant.key] = variant.examples_per_sec;
  return {{"examples_per_sec", bench.examples_per_sec},
          {"workers", bench.workers},
          {"stages", stages},
          {"variants", variants},
          {"verdict", InputVerdict(bench)}};
}

void PrintInput(const data::InputBench& bench) {
  std::vector<std::vector<std::string>> rows = {{"up to", "examples/s", "share"}};
  for (const data::StageRate& stage : bench.stages) {
    rows.push_back({stage.stage, RateText(stage.examples_per_sec), PercentText(stage.share)});
  }
  rows.push_back({fmt::format("all, {} worker{}", bench.workers, bench.workers == 1 ? "" : "s"),
                  RateText(bench.examples_per_sec), ""});
  for (const data::InputVariant& variant : bench.variants) {
    rows.push_back({variant.key, RateText(variant.examples_per_sec), ""});
  }
  fmt::print("{}{}\n", TableText({false, true, true}, rows), InputVerdict(bench));
}

int BenchTheInput(const BenchInvocation& invocation, const Job& job) {
  const std::string& name = TrainInputName(job);
  const SystemClock clock;
  const data::InputBench bench =
      data::BenchInput(job.input_fns.at(name), name,
                       {.clock = clock, .secs = SecondsOf(invocation), .context = ContextOf(job)});
  if (invocation.json) {
    PrintDocument("bench", InputJson(bench));
  } else {
    PrintInput(bench);
  }
  return 0;
}

// ---- bench step -------------------------------------------------------------------------------

struct StepReport {
  StepBench step;
  double input_rate = 0;  // examples/s of the input by itself
  int64_t batch_size = 1;

  [[nodiscard]] double step_rate() const {
    return static_cast<double>(batch_size) / std::max(step.step_secs, 1e-9);
  }
  [[nodiscard]] double together_rate() const {
    return static_cast<double>(batch_size) / std::max(step.together_secs, 1e-9);
  }
  [[nodiscard]] bool waits() const { return step.waited >= kMuchWaiting; }
  [[nodiscard]] std::string Verdict(const std::string& job) const;
};

std::string StepReport::Verdict(const std::string& job) const {
  if (waits()) {
    return fmt::format(
        "the input is the bottleneck: steps wait for it {} of the time; 'tpuest bench input {}' "
        "shows the slowest stage, and the keys that help",
        PercentText(step.waited), job);
  }
  std::string text =
      fmt::format("the step is the bottleneck: the input by itself is {:.1f} times as fast",
                  input_rate / std::max(step_rate(), 1e-9));
  if (!step.ops.empty()) {
    text += fmt::format("; {} takes {}", step.ops[0].op, PercentText(step.ops[0].share));
  }
  return text;
}

StepReport MeasureStep(const BenchInvocation& invocation, const Job& job, Log& log) {
  const std::string& name = TrainInputName(job);
  data::InputFnOptions input = job.input_fns.at(name);
  input.repeat = -1;
  input.drop_remainder = true;
  const OpRegistry registry(ops::AllOps());
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  const Device device(DeviceName(invocation.device, job), DevicesOf(job.estimator),
                      invocation.verbose ? PjrtLogging::kLoud : PjrtLogging::kQuiet,
                      job.estimator.run_config.session_config.gpu_options);
  const SystemClock clock;
  const StopSignal never;
  EstimatorHome home{registry, *backend, log, clock, never};
  home.device = device.backend();
  home.device_options = DeviceOptionsOf(job.tpuest);
  const InputFn input_fn = data::MakeInputFn(input, name);
  std::unique_ptr<BatchStream> stream = input_fn(ContextOf(job));
  const ModelFn model_fn = MakeJobModelFn(job);
  const PlanArgs args{.model_fn = model_fn,
                      .options = job.estimator,
                      .stream = stream->spec(),
                      .length = job.train_spec->length(),
                      .home = home};
  const PlannedRun run = PlanTraining(args);
  const double secs = SecondsOf(invocation);
  StepReport report{.batch_size = run.batch_size};
  report.input_rate = data::RateOf(*input_fn(ContextOf(job)), clock, 0.2 * secs);
  report.step = BenchStep(args, run, std::move(stream), 0.8 * secs);
  return report;
}

Json StepJson(const StepReport& report, const std::string& verdict) {
  Json ops = Json::array();
  for (const OpTime& op : report.step.ops) {
    ops.push_back({{"op", op.op}, {"ms", 1e3 * op.secs}, {"share", op.share}, {"calls", op.calls}});
  }
  return {{"batch_size", report.batch_size},
          {"step", {{"ms", 1e3 * report.step.step_secs}, {"examples_per_sec", report.step_rate()}}},
          {"input", {{"examples_per_sec", report.input_rate}}},
          {"together",
           {{"ms", 1e3 * report.step.together_secs},
            {"examples_per_sec", report.together_rate()},
            {"input_wait", report.step.waited}}},
          {"ops", ops},
          {"bottleneck", report.waits() ? "input" : "step"},
          {"verdict", verdict}};
}

std::string MsText(double secs) { return fmt::format("{:.3g} ms", 1e3 * secs); }

void PrintStep(const StepReport& report, const std::string& verdict) {
  const std::vector<std::vector<std::string>> rows = {
      {"batch " + WithCommas(report.batch_size), "a step", "examples/s"},
      {"the step alone", MsText(report.step.step_secs), RateText(report.step_rate())},
      {"the input alone",
       MsText(static_cast<double>(report.batch_size) / std::max(report.input_rate, 1e-9)),
       RateText(report.input_rate)},
      {"together", MsText(report.step.together_secs), RateText(report.together_rate())}};
  fmt::print("{}", TableText({false, true, true}, rows));
  if (!report.step.ops.empty()) {
    std::vector<std::vector<std::string>> ops = {{"op", "calls", "time", "share"}};
    for (const OpTime& op : report.step.ops) {
      if (ops.size() > kShownOps) break;
      ops.push_back({op.op, WithCommas(op.calls), MsText(op.secs), PercentText(op.share)});
    }
    fmt::print("\n{}", TableText({false, true, true, true}, ops));
  }
  fmt::print("\n{}\n", verdict);
}

int BenchTheStep(const BenchInvocation& invocation, const Job& job) {
  const SystemClock clock;
  Console console(invocation, clock);
  Log log;  // without sinks: nobody reads what a run says of its start
  log.AddSink([&](LogLevel level, std::string_view line) {
    if (level >= LogLevel::kWarning) console.log().Write(level, line);
  });
  const StepReport report = MeasureStep(invocation, job, log);
  const std::string verdict = report.Verdict(invocation.job.value_or("JOB"));
  if (invocation.json) {
    PrintDocument("bench", StepJson(report, verdict));
  } else {
    PrintStep(report, verdict);
  }
  return 0;
}

// ---- bench rate -------------------------------------------------------------------------------

Json RateJson(const RateTest& test) {
  Json rates = Json::array();
  Json losses = Json::array();
  Json smoothed = Json::array();
  for (const RateStep& step : test.steps) {
    rates.push_back(step.rate);
    losses.push_back(JsonNumber(static_cast<float>(step.loss)));
    smoothed.push_back(step.smoothed);
  }
  return {{"key", test.key},           {"rates", rates},           {"losses", losses},
          {"smoothed", smoothed},      {"lowest", test.lowest},    {"steepest", test.steepest},
          {"proposal", test.proposal}, {"diverged", test.diverged}};
}

void PrintRate(const RateTest& test) {
  constexpr int kTicks = 5;
  Panel panel{.metric = "loss", .curves = {{"smoothed", {}}}, .x = {}, .y = {}};
  std::vector<double> xs;
  std::vector<double> ys;
  for (const RateStep& step : test.steps) {
    panel.curves[0].points.push_back({step.rate, step.smoothed});
    xs.push_back(step.rate);
    ys.push_back(step.smoothed);
  }
  panel.x = MakeAxis(xs, true, kTicks);
  panel.y = MakeAxis(ys, false, kTicks);
  const double last = test.steps.back().rate;
  fmt::print("{}\nfalls most at {:.2g}, lowest at {:.2g}, {} {:.2g}\n",
             PlotText(panel, test.key, CanvasOfStdout()), test.steepest, test.lowest,
             test.diverged ? "gone at" : "tried up to", last);
  fmt::print("proposal: {}={}\n", test.key, NumberText(test.proposal));
}

int BenchTheRate(const BenchInvocation& invocation, config::Sources& sources) {
  if (invocation.rates.from >= invocation.rates.to) {
    throw Error(Code::kUsage,
                fmt::format("--from {} --to {}: the range must be increasing",
                            NumberText(invocation.rates.from), NumberText(invocation.rates.to)),
                "--from 1e-6 --to 10");
  }
  const RateTest test = TestRates(invocation, invocation.rates, sources);
  if (invocation.json) {
    PrintDocument("bench", RateJson(test));
  } else {
    PrintRate(test);
  }
  return 0;
}

int RunBench(const BenchInvocation& invocation, config::Sources& sources) {
  if (invocation.subject == "rate") return BenchTheRate(invocation, sources);
  if (invocation.subject != "step" && invocation.subject != "input") {
    throw Error(
        Code::kUsage,
        invocation.subject.empty()
            ? "bench needs a subcommand"
            : fmt::format("bench has no subcommand '{}'", invocation.subject),
        "tpuest bench step job.yaml, tpuest bench input job.yaml or tpuest bench rate job.yaml");
  }
  LoadedJob loaded = LoadInvocationJob(invocation, sources);
  ForgetFolder(loaded.job);
  if (invocation.subject == "step") (void)ResolveStepCounts(loaded.job);
  return invocation.subject == "step" ? BenchTheStep(invocation, loaded.job)
                                      : BenchTheInput(invocation, loaded.job);
}

}  // namespace

Command BenchCommand() {
  return MakeCommand<BenchInvocation>(
      {.name = "bench",
       .summary =
           "measure what limits training speed, or find a learning rate: bench step|input|rate",
       .examples = {"tpuest bench step job.yaml", "tpuest bench rate job.yaml"},
       .subjects = {"step", "input", "rate"},
       .needs_subject = true},
      Declare, RunBench);
}

}  // namespace tpuest::cli
