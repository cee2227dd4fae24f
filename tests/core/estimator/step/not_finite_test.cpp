// Numbers that are not finite never reach variables and slots, and on_nan determines how the run
// continues.

#include <cmath>

#include "core/estimator/hooks/train_hooks.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// The linear model, whose train_op also puts infinity into "noise", which no loss reads.
ModelFn Overflowing() {
  return [base = LinearModel()](Graph& graph, const ModelInputs& inputs, Mode mode,
                                const Params& params) {
    TPUEstimatorSpec spec = base(graph, inputs, mode, params);
    const Value huge = graph.Constant(Tensor::Of<float>({3}, {1, INFINITY, 1}), "huge");
    Node* const overflow = ops::AssignVariableOp(graph.FindVariable("noise")->handle, huge);
    spec.train_op = ops::NoOp(graph, {spec.train_op, overflow}, "train_and_overflow");
    return spec;
  };
}

// The linear model, whose train_op also adds the largest float to "noise" in each step: the second
// step overflows, although all its inputs are finite.
ModelFn Growing() {
  return [base = LinearModel()](Graph& graph, const ModelInputs& inputs, Mode mode,
                                const Params& params) {
    TPUEstimatorSpec spec = base(graph, inputs, mode, params);
    const Value most = graph.Constant(Tensor::Of<float>({3}, {0, 3e38F, 0}), "most");
    Node* const grow = ops::AssignAddVariableOp(graph.FindVariable("noise")->handle, most);
    spec.train_op = ops::NoOp(graph, {spec.train_op, grow}, "train_and_grow");
    return spec;
  };
}

struct RunMode {
  const char* name;
  int shards;
  bool broadcasts;
};
constexpr RunMode kRunModes[] = {{"plain", 0, false}, {"tpu", 2, false}, {"broadcast", 2, true}};

EstimatorOptions OptionsIn(const std::string& model_dir, const RunMode& mode) {
  EstimatorOptions options = Options(model_dir, mode.shards);
  if (mode.broadcasts) {
    options.run_config.tpu_config.per_host_input_for_training = std::string("BROADCAST");
  }
  options.run_config.save_checkpoints_steps = 2;
  return options;
}

}  // namespace

TEST_CASE("a step that makes a variable infinite is not applied, in any mode") {
  for (const RunMode& mode : kRunModes) {
    CAPTURE(mode.name);
    TemporaryFolder folder;
    Home home;
    Estimator estimator(Overflowing(), OptionsIn(folder.path(), mode), home.get());
    const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 4}); });
    CHECK(error.code() == Code::kDiverged);
    CHECK(error.message().find("noise would be infinite or NaN") != std::string::npos);
    CHECK(error.faults()[0].hint.find("step 1 ") == 0);
    CHECK(estimator.LatestCheckpoint() == folder.File("model.ckpt-0"));
  }
}

TEST_CASE("finite numbers whose sum overflows leave all variables unchanged") {
  for (const RunMode& mode : kRunModes) {
    CAPTURE(mode.name);
    TemporaryFolder folder;
    Home home;
    Estimator estimator(Growing(), OptionsIn(folder.path(), mode), home.get());
    NanTensorHook gentle(false);
    const TrainResult result =
        estimator.Train(RangeInput({}), {.max_steps = 4}, TrainHooks{&gentle});
    CHECK(result.stopped_because == "diverged");
    CHECK(result.global_step == 1);
    const SavedState saved = LoadCheckpoint(folder.File("model.ckpt-1"));
    for (const auto& [name, tensor] : saved.tensors) {
      if (tensor.dtype() != DType::kFloat) continue;
      for (const float value : tensor.values<float>()) CHECK(std::isfinite(value));
    }
    CHECK(saved.tensors.at("noise").data<float>()[1] > 2e38F);
  }
}

TEST_CASE("on_nan: skip_step continues without the batch, on any number of shards") {
  for (const int shards : {0, 2, 4}) {
    CAPTURE(shards);
    TemporaryFolder folder;
    const auto train = [&](const std::string& to, std::initializer_list<int64_t> until) {
      Home home;
      EstimatorOptions options = Options(folder.File(to), shards);
      options.on_nan.policy = "skip_step";
      for (const int64_t max_steps : until) {
        Estimator estimator(LinearModel(), options, home.get());
        const RangeOptions range{.count = 100, .nan_at = 13};
        CHECK(estimator.Train(RangeInput(range), {.max_steps = max_steps}).global_step ==
              max_steps);
      }
      return home.Logged("Step 4 was not applied; skipping its batch");
    };
    CHECK(train("whole", {10}));
    train("cut", {3, 5, 10});
    const std::string whole = CheckpointBytes(folder.File("whole/model.ckpt-10"));
    CHECK(whole == CheckpointBytes(folder.File("cut/model.ckpt-10")));
    // Ten steps and the skipped batch.
    CHECK(LoadCheckpoint(folder.File("whole/model.ckpt-10")).resume.position.records == 44);
  }
}

TEST_CASE("on_nan: rollback returns to the newest checkpoint, and continues after the batch") {
  for (const int shards : {0, 2}) {
    CAPTURE(shards);
    TemporaryFolder folder;
    Home home;
    EstimatorOptions options = Options(folder.path(), shards);
    options.on_nan.policy = "rollback";
    options.run_config.save_checkpoints_steps = 2;
    options.run_config.tpu_config.iterations_per_loop = 1;
    Estimator estimator(LinearModel(), options, home.get());
    const RangeOptions range{.count = 100, .nan_at = 13};
    CHECK(estimator.Train(RangeInput(range), {.max_steps = 10}).global_step == 10);
    CHECK(home.Logged("returning to " + folder.File("model.ckpt-2")));
    // Batches 1, 2, then 5 to 12: the steps of 3 and 4 were undone.
    CHECK(LoadCheckpoint(folder.File("model.ckpt-10")).resume.position.records == 48);
  }
}

TEST_CASE("max_skips limits the number of consecutive skipped batches") {
  for (const char* const policy : {"skip_step", "rollback"}) {
    for (const int64_t max_skips : {0, 1, 2}) {
      CAPTURE(policy);
      CAPTURE(max_skips);
      TemporaryFolder folder;
      Home home;
      EstimatorOptions options = Options(folder.path());
      options.on_nan = {.policy = policy, .max_skips = max_skips};
      Estimator estimator(LinearModel(), options, home.get());
      const RangeOptions range{.count = 100, .nan_at = 13};
      const auto train = [&] { estimator.Train(RangeInput(range), {.max_steps = 10}); };
      if (max_skips == 0) {
        CHECK(ErrorOf(train).code() == Code::kDiverged);
      } else {
        CHECK_NOTHROW(train());
      }
    }
  }
}

TEST_CASE("consecutive failing batches end the run for every value of on_nan") {
  for (const char* const on_nan : {"skip_step", "rollback"}) {
    CAPTURE(on_nan);
    TemporaryFolder folder;
    Home home;
    EstimatorOptions options = Options(folder.path());
    options.on_nan.policy = on_nan;
    Estimator estimator(Overflowing(), options, home.get());
    const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 4}); });
    CHECK(error.code() == Code::kDiverged);
    CHECK(estimator.LatestCheckpoint() == folder.File("model.ckpt-0"));
  }
}

}  // namespace tpuest
