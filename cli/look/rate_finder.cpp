#include "cli/look/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/job/job.h"
#include "cli/run/session.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {
namespace {

// Fewer losses than this say nothing.
constexpr size_t kLeastSteps = 10;
constexpr double kMemory = 0.9;     // of the smoothed loss
constexpr double kDiverged = 4;     // times the lowest smoothed loss, or more
constexpr int64_t kStepsALook = 5;  // between two looks at the losses

// Keys that can have the learning rate of all variables.
constexpr std::string_view kOneRate[] = {"optimizer.learning_rate",
                                         "model.optimizer.learning_rate"};

bool HasKey(const std::vector<config::FlatValue>& keys, const std::string& path) {
  return std::any_of(keys.begin(), keys.end(), [&](const config::FlatValue& key) {
    return key.path == path || key.path.starts_with(path + ".");
  });
}

// The key of the learning rate, as an override names it.
std::string RateKey(const LoadedJob& loaded, const std::optional<std::string>& given) {
  if (given) return *given;
  const std::vector<config::FlatValue> keys = FlatJob(loaded.job);
  for (const std::string_view path : kOneRate) {
    const std::string section(path.substr(0, path.rfind('.')));
    // An optimizer that the job leaves to the model's default is set by the short name.
    if (FindNode(loaded.tree, section) != nullptr) return std::string(path);
    if (path != kOneRate[0] && HasKey(keys, std::string(path))) return "learning_rate";
  }
  std::vector<std::string> rates;
  for (const config::FlatValue& key : keys) {
    const size_t end = key.path.find("optimizer.learning_rate");
    if (end == std::string::npos) continue;
    const std::string path = key.path.substr(0, end) + "optimizer.learning_rate";
    if (std::find(rates.begin(), rates.end(), path) == rates.end()) rates.push_back(path);
  }
  throw Error(Code::kUsage, "bench rate does not know which learning rate to raise",
              rates.empty()
                  ? "--key optimizer.learning_rate"
                  : fmt::format("the job has: {}; --key {}", Join(rates, ", "), rates[0]));
}

// Adds up what is known of the losses so far.
class Smoother {
 public:
  double Add(double loss) {
    mean_ = kMemory * mean_ + (1 - kMemory) * loss;
    weight_ = kMemory * weight_ + (1 - kMemory);
    return mean_ / weight_;
  }

 private:
  double mean_ = 0;
  double weight_ = 0;
};

// Keeps the steps' losses and ends the test where they have left all that is worth a look.
class LossWatch final : public SessionRunHook {
 public:
  // The rate of step s is from * factor^(s - 1).
  LossWatch(RateTest& test, double from, double factor)
      : test_(test), from_(from), factor_(factor) {}

  void BeforeRun(RunContext& context) override { context.LimitIterations(kStepsALook); }
  void AfterRun(RunContext& context, const RunValues& values) override {
    for (const StepRecord& step : values.steps) {
      if (test_.diverged) break;
      const double smoothed = smoother_.Add(step.loss);
      lowest_ = std::min(lowest_, smoothed);
      const double rate = from_ * std::pow(factor_, static_cast<double>(step.step - 1));
      test_.steps.push_back({.rate = rate, .loss = step.loss});
      test_.diverged =
          test_.steps.size() >= kLeastSteps && smoothed > kDiverged * lowest_ && lowest_ > 0;
    }
    if (values.diverged) test_.diverged = true;
    if (test_.diverged) context.RequestStop("the loss has left");
  }

 private:
  RateTest& test_;
  const double from_;
  const double factor_;
  Smoother smoother_;
  double lowest_ = INFINITY;
};

class TemporaryRun {
 public:
  TemporaryRun() : folder_(MakeTemporaryFolder("tpuest")) {}
  ~TemporaryRun() { RemoveTree(folder_); }
  TemporaryRun(const TemporaryRun&) = delete;
  TemporaryRun& operator=(const TemporaryRun&) = delete;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

double OneDigit(double value) { return std::stod(fmt::format("{:.0e}", value)); }

}  // namespace

RateTest JudgeRates(std::vector<RateStep> steps) {
  RateTest test;
  Smoother smoother;
  for (RateStep& step : steps) step.smoothed = smoother.Add(step.loss);
  const auto lowest = std::min_element(
      steps.begin(), steps.end(),
      [](const RateStep& a, const RateStep& b) { return a.smoothed < b.smoothed; });
  test.lowest = lowest->rate;
  const auto window = std::max<std::ptrdiff_t>(1, std::ssize(steps) / 10);
  double most = -INFINITY;
  test.steepest = test.lowest;
  for (auto step = steps.begin(); step + window <= lowest; ++step) {
    const double fall = step->smoothed - (step + window)->smoothed;
    if (fall <= most) continue;
    most = fall;
    test.steepest = std::sqrt(step->rate * (step + window)->rate);
  }
  test.proposal = OneDigit(test.lowest / 10);
  test.steps = std::move(steps);
  return test;
}

RateTest TestRates(const Invocation& invocation, const RateRange& range, config::Sources& sources) {
  const std::string key = RateKey(LoadInvocationJob(invocation, sources), range.key);
  const TemporaryRun run;
  Invocation of_test = invocation;
  of_test.model_dir = run.folder();
  of_test.quiet = !invocation.verbose;
  const std::string flag = "bench rate";
  const double factor = std::pow(range.to / range.from, 1.0 / static_cast<double>(range.steps - 1));
  const auto set = [&](const std::string& path, const std::string& value) {
    of_test.key_flags.push_back({flag, path, value});
  };
  set(key, fmt::format("{{type: exponential_decay, learning_rate: {}, decay_steps: 1, "
                       "decay_rate: {}}}",
                       NumberText(range.from), NumberText(factor)));
  set("run_config.save_checkpoints_secs", "null");
  set("run_config.save_checkpoints_steps", "1000000000");
  RateTest test;
  LossWatch watch(test, range.from, factor);
  bool diverged = false;
  try {
    Session session(of_test, sources);
    if (!session.job().train_spec) {
      throw Error(Code::kUsage, "bench rate needs a train_spec",
                  "train_spec: {input_fn: train, max_steps: 1000}");
    }
    const TrainResult result = session.estimator().Train(
        session.TrainInput(), {.steps = std::nullopt, .max_steps = range.steps}, {&watch});
    session.console().Clear();
    if (result.exit_code != 0) {
      throw Error(static_cast<Code>(result.exit_code),
                  fmt::format("bench rate was {}", result.stopped_because),
                  "run it again: it keeps no intermediate results");
    }
  } catch (const Error& error) {
    if (error.code() != Code::kDiverged || test.steps.size() < kLeastSteps) throw;
    diverged = true;
  }
  if (test.steps.size() < kLeastSteps) {
    throw Error(Code::kData,
                fmt::format("the input ended after {} steps; bench rate needs {}",
                            test.steps.size(), kLeastSteps),
                "repeat: -1 in the input_fn, or a smaller train_batch_size");
  }
  diverged = diverged || test.diverged;
  test = JudgeRates(std::move(test.steps));
  test.key = key;
  test.diverged = diverged;
  return test;
}

}  // namespace tpuest::cli
