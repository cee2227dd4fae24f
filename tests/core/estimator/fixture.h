#pragma once
// A model_fn, a stream and a home that tests of the estimator share.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/estimator/estimator.h"
#include "core/ops/all_ops.h"
#include "tests/temporary_folder.h"

namespace tpuest {

// A clock that advances by `tick` seconds each time it is read.
class TickingClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override { return kStart + (now_ += tick); }
  [[nodiscard]] double Seconds() const override { return now_ += tick; }
  double tick = 0.001;

 private:
  static constexpr double kStart = 4e9;  // later than the time of any file that a test writes
  mutable double now_ = 0;
};

// The surroundings of an Estimator; keeps its log.
struct Home {
  OpRegistry registry{ops::AllOps()};
  std::unique_ptr<Backend> backend = MakeCpuBackend();
  Log log;
  TickingClock clock;
  StopSignal stop;
  std::vector<std::string> lines;

  Home() {
    log.AddSink([this](LogLevel /*level*/, std::string_view line) { lines.emplace_back(line); });
  }
  [[nodiscard]] EstimatorHome get() {
    return {.registry = registry,
            .backend = *backend,
            .log = log,
            .clock = clock,
            .stop = stop,
            .fsync = false};
  }
  [[nodiscard]] bool Logged(std::string_view part) const {
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

// Gives examples x = 0, 1, ..., count - 1 with y = 2x + 1, each feature of shape [1] and scaled by
// 1/count; the feature "i" is the index. Examples come in order, `repeat` times (-1: for ever).
struct RangeOptions {
  int64_t count = 12;
  int64_t repeat = -1;
  bool drop_remainder = false;
  int64_t nan_at = -1;  // the label of this example is NaN
};
[[nodiscard]] InputFn RangeInput(const RangeOptions& options);

// The model is y = w x + b, with mean squared error, momentum 0.5 at rate 0.1. Its variables are
// dense/kernel [1,1], dense/bias [1], their slots ../Momentum and a random, trainable "noise" [3]
// that nothing uses.
struct LinearOptions {
  bool reads_example_weight = false;
  int64_t bias_size = 1;
  bool with_slots = true;
  double loss_scale = 1;
};
[[nodiscard]] ModelFn LinearModel(const LinearOptions& options = {});

// Options with use_tpu and num_shards = shards; without use_tpu if shards is 0.
[[nodiscard]] EstimatorOptions Options(const std::string& model_dir, int shards = 0,
                                       int64_t batch = 4);

// The bytes of a checkpoint's data and index.
[[nodiscard]] std::string CheckpointBytes(const std::string& prefix);

// Calls a function after each loop.
class AfterEachLoop final : public SessionRunHook {
 public:
  using Fn = std::function<void(RunContext&, const RunValues&)>;
  explicit AfterEachLoop(Fn fn) : fn_(std::move(fn)) {}
  void AfterRun(RunContext& context, const RunValues& values) override { fn_(context, values); }

 private:
  Fn fn_;
};

// The Error that fn throws.
template <class Fn>
[[nodiscard]] Error ErrorOf(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error(Code::kInternal, "");
}

}  // namespace tpuest
