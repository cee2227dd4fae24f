#include "core/estimator/options/options.h"

#include <doctest/doctest.h>

#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

EstimatorOptions Good() { return Options("runs/x", 8, 16); }

std::vector<Fault> FaultsOf(EstimatorOptions options) {
  options.run_config.Resolve();
  return Validate(options);
}

// The only fault of the options.
Fault FaultOf(const EstimatorOptions& options) {
  const std::vector<Fault> faults = FaultsOf(options);
  REQUIRE(faults.size() == 1);
  return faults.front();
}

}  // namespace

TEST_CASE("good options have no faults") { CHECK(FaultsOf(Good()).empty()); }

TEST_CASE("TPUConfig takes positive numbers") {
  EstimatorOptions options = Good();
  options.run_config.tpu_config.num_shards = 0;
  CHECK(FaultOf(options).message == "TPUConfig num_shards must be positive, got 0");
  CHECK(FaultOf(options).key == "run_config.tpu_config.num_shards");
  options = Good();
  options.run_config.tpu_config.iterations_per_loop = 0;
  CHECK(FaultOf(options).message.starts_with("Invalid TPUConfig `iterations_per_loop` value."));
}

TEST_CASE("batch sizes are positive, and train_batch_size is needed on TPU") {
  EstimatorOptions options = Good();
  options.train_batch_size.reset();
  CHECK(FaultOf(options).message == "`train_batch_size` cannot be `None`");
  options.use_tpu = false;
  CHECK(FaultsOf(options).empty());
  options = Good();
  options.eval_batch_size = -1;
  CHECK(FaultOf(options).message == "eval_batch_size must be positive, got -1");
  CHECK(FaultOf(options).key == "eval_batch_size");
  options.eval_batch_size = int64_t{1} << 31;
  CHECK(FaultOf(options).message == "eval_batch_size must be at most 2147483647, got 2147483648");
}

TEST_CASE("params may not hold reserved keys") {
  EstimatorOptions options = Good();
  options.params = {{"batch_size", {"1"}}, {"rate", {"0.1"}}};
  CHECK(FaultOf(options).message ==
        "['batch_size', 'context'] are reserved keys but existed in params {'batch_size': 1, "
        "'rate': 0.1}.");
  CHECK(FaultOf(options).key == "params.batch_size");
}

TEST_CASE("RunConfig has TensorFlow's rules") {
  EstimatorOptions options = Good();
  options.run_config.keep_checkpoint_max = -1;
  CHECK(FaultOf(options).message == "keep_checkpoint_max should be >= 0");
  options.run_config.keep_checkpoint_max.reset();
  options.run_config.log_step_count_steps = 0;
  CHECK(FaultOf(options).message == "log_step_count_steps should be > 0");
  options.run_config.log_step_count_steps.reset();
  options.run_config.model_dir = "";
  CHECK(FaultOf(options).message == "model_dir should be non-empty");
  options.run_config.model_dir.reset();
  options.run_config.save_checkpoints_secs = 60;
  CHECK(FaultOf(options).message ==
        "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.");
  options.run_config.save_checkpoints_secs.reset();
  options.run_config.save_checkpoints_steps = -5;
  CHECK(FaultOf(options).message == "save_checkpoints_steps should be >= 0");
}

TEST_CASE("all faults are reported at once") {
  EstimatorOptions options = Good();
  options.train_batch_size = 0;
  options.run_config.save_summary_steps = -1;
  options.run_config.tpu_config.num_shards = -2;
  CHECK(FaultsOf(options).size() == 3);
}

TEST_CASE("checkpoints are saved every 600 seconds unless one of the two is given") {
  RunConfig neither;
  neither.Resolve();
  CHECK(!neither.save_checkpoints_steps);
  CHECK(neither.save_checkpoints_secs == 600);
  neither.Resolve();
  CHECK(neither.save_checkpoints_secs == 600);

  RunConfig steps;
  steps.save_checkpoints_steps = 50;
  steps.Resolve();
  CHECK(steps.save_checkpoints_steps == 50);
  CHECK(!steps.save_checkpoints_secs);

  RunConfig none;
  none.save_checkpoints_secs.reset();
  none.Resolve();
  CHECK(!none.save_checkpoints_steps);
  CHECK(!none.save_checkpoints_secs);
}

TEST_CASE("steps and max_steps are positive and exclude each other") {
  CHECK(Validate({.steps = 5}, true).empty());
  CHECK(Validate({.steps = 0}, true).at(0).message == "Must specify steps > 0, given: 0");
  CHECK(Validate({.max_steps = -1}, true).at(0).message == "Must specify max_steps > 0, given: -1");
  CHECK(Validate({.steps = 1, .max_steps = 1}, true).at(0).message ==
        "Can not provide both steps and max_steps.");
  CHECK(Validate(TrainLength{}, false).empty());
  CHECK(Validate(TrainLength{}, true).at(0).message ==
        "For TPU training, one of `steps` or `max_steps` must be set. Cannot be both `None`.");
  CHECK(ValidateEvalSteps(-321, false).at(0).message == "Must specify steps > 0, given: -321");
  CHECK(ValidateEvalSteps(-321, true).at(0).message == "Eval steps must be positive, got -321");
  CHECK(ValidateEvalSteps(std::nullopt, true).empty());
}

}  // namespace tpuest
