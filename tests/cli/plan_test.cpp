// The contents of a plan: texts, tables, and the cost of models counted by hand.

#include <doctest/doctest.h>

#include "cli/job/job.h"
#include "cli/prepare/plan_report.h"
#include "cli/shell/tables.h"
#include "core/base/process/files.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

TEST_CASE("numbers are printed with three digits") {
  CHECK(CountText(0) == "0");
  CHECK(CountText(999) == "999");
  CHECK(CountText(1000) == "1.00 k");
  CHECK(CountText(12345) == "12.3 k");
  CHECK(CountText(999600) == "1.00 M");
  CHECK(CountText(8.37e9) == "8.37 G");
  CHECK(CountText(2e16) == "20000 T");
  CHECK(BytesText(20) == "20 bytes");
  CHECK(BytesText(1536) == "1.50 KiB");
  CHECK(BytesText(int64_t{48} << 30) == "48.0 GiB");
}

TEST_CASE("the columns of a table are as wide as their contents") {
  CHECK(TableText({false, true, false}, {{"layer", "FLOPs", "job"}, {"a", "1,000,000", ""}}) ==
        "layer      FLOPs  job\n"
        "a      1,000,000\n");
}

TEST_CASE("epochs are steps times batch over the examples of an epoch, if known") {
  PlanReport report{.steps = 10, .batch_size = 32};
  CHECK_FALSE(report.epochs());
  report.epoch_size = 64;
  CHECK(report.epochs() == 5.0);
  report.steps.reset();
  CHECK_FALSE(report.epochs());
}

constexpr std::string_view kJob = R"(
version: 1
use_tpu: false
train_batch_size: 32
input_fns:
  train: {source: {type: digits, count: 64}, map: [{op: cast, in: image, dtype: float32}],
          features: [image], labels: label}
model:
  type: Sequential
  layers:
    - {type: dense, units: 128, activation: relu}
    - {type: batch_normalization}
    - {type: dense, units: 10, trainable: false}
  head: {type: MultiClassHead, n_classes: 10}
optimizer: {type: AdamOptimizer, learning_rate: 0.001}
train_spec: {input_fn: train, max_steps: 1}
)";

TEST_CASE("a layer counts trained parameters, and the model the bytes of all variables") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/job.yaml";
  WriteFileAtomically(path, kJob, false);
  config::Sources sources;
  const Job job = LoadJobFile(path, {}, sources).job;
  const OpRegistry registry(ops::AllOps());
  const BuiltModel model =
      BuildModel(MakeJobModelFn(job), registry,
                 {.stream = *data::KnownSpec(job.input_fns.at("train"), "train"),
                  .rows = 32,
                  .params = {.batch_size = 32}});
  const ModelCost cost = CostOf(model);
  REQUIRE(cost.layers.size() == 3);
  const LayerRow& dense = cost.layers[0];
  CHECK(dense.name == "dense");
  CHECK(dense.output == Shape{32, 128});
  CHECK(dense.parameters == 784 * 128 + 128);
  CHECK(dense.flops == 2 * 32 * 784 * 128 + 2 * 32 * 128);  // products, bias, relu
  CHECK(dense.place.line == 11);
  CHECK(cost.layers[1].parameters == 2 * 128);
  CHECK(cost.layers[2].parameters == 0);
  CHECK(cost.layers[2].flops == 2 * 32 * 128 * 10 + 32 * 10);
  const int64_t trained = 784 * 128 + 3 * 128;
  CHECK(cost.parameters == trained);
  CHECK(cost.parameter_bytes == 4 * trained);
  // Two slots per variable; two averages, the last layer, two powers of beta; the step is an int64.
  CHECK(cost.bytes == 4 * (3 * trained + 2 * 128 + 128 * 10 + 10 + 2) + 8);
  // In the backward pass the first product has a gradient for its kernel, but not for the images.
  const int64_t product = 2 * 32 * 784 * 128;
  CHECK(cost.flops > 2 * product);
  CHECK(cost.flops < 3 * product);
}

}  // namespace
}  // namespace tpuest::cli
