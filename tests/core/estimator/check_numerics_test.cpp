// An update that makes a variable infinite while the loss is still a number.

#include "core/estimator/hooks/check_numerics_hook.h"
#include "core/io/checkpoint_state.h"
#include "core/ops/array.h"
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

}  // namespace

TEST_CASE("on TPU a variable that is no number ends the run before it is saved") {
  TemporaryFolder folder;
  Home home;
  EstimatorOptions options = Options(folder.path(), 2);
  options.run_config.save_checkpoints_steps = 1;
  Estimator estimator(Overflowing(), options, home.get());
  const Error error = ErrorOf([&] { estimator.Train(RangeInput({}), {.max_steps = 4}); });
  CHECK(error.code() == Code::kDiverged);
  CHECK(error.message() == "Gradient for noise is NaN");
  CHECK(LatestCheckpoint(folder.path()) == JoinPath(folder.path(), "model.ckpt-0"));
}

TEST_CASE("a plain Estimator, and BROADCAST, look at the loss alone") {
  TemporaryFolder folder;
  Home home;
  Estimator plain(Overflowing(), Options(folder.File("plain")), home.get());
  CHECK(plain.Train(RangeInput({}), {.max_steps = 2}).global_step == 2);
  EstimatorOptions options = Options(folder.File("broadcast"), 2);
  options.run_config.tpu_config.per_host_input_for_training = std::string("BROADCAST");
  Estimator broadcast(Overflowing(), options, home.get());
  CHECK(broadcast.Train(RangeInput({}), {.max_steps = 2}).global_step == 2);
}

}  // namespace tpuest
