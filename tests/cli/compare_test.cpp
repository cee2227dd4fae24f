// Where runs part, and which keys can have done it.

#include "cli/run/record/compare.h"

#include <doctest/doctest.h>

#include "cli/run/record/bit_keys.h"
#include "cli/run/record/checkpoint_fingerprint.h"
#include "core/base/files.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

TEST_CASE("where files go, how often something is written and the threads change no bit") {
  CHECK_FALSE(CanChangeBits("run_config.session_config.intra_op_parallelism_threads", "train"));
  CHECK_FALSE(CanChangeBits("run_config.keep_best.metric", "train"));
  CHECK_FALSE(CanChangeBits("run_config.tpu_config.iterations_per_loop", "train"));
  CHECK_FALSE(CanChangeBits("eval_spec.valid.steps", "train"));
  CHECK_FALSE(CanChangeBits("input_fns.test.source.count", "train"));
  CHECK_FALSE(CanChangeBits("input_fns.train.prefetch", "train"));
  CHECK(CanChangeBits("input_fns.train.shuffle.seed", "train"));
  CHECK(CanChangeBits("input_fns.train", "train"));
  CHECK(CanChangeBits("run_config.tf_random_seed", "train"));
  CHECK(CanChangeBits("run_config.tpu_config.num_shards", "train"));
  CHECK(CanChangeBits("train_spec.hooks[0].type", "train"));
  CHECK(CanChangeBits("model.layers[0].units", "train"));
  CHECK(CanChangeBits("names", "train"));  // not `name`
}

std::string WriteCheckpoint(const TemporaryFolder& folder, const std::string& name, float bias,
                            const std::vector<float>& kernel) {
  std::string prefix = JoinPath(folder.path(), name);
  const auto size = static_cast<int64_t>(kernel.size());
  WriteBundle(prefix, {{"bias", Tensor::Of<float>({1}, {bias})},
                       {"kernel", Tensor::Of<float>({size}, kernel)},
                       {"tpuest/position", Tensor::Of<int64_t>({2}, {1, 2})}});
  return prefix;
}

TEST_CASE("fingerprints tell values, shapes and names apart, by the index alone") {
  const TemporaryFolder folder;
  const Fingerprints a = FingerprintsOf(WriteCheckpoint(folder, "model.ckpt-10", 1, {1, 2}));
  const Fingerprints same = FingerprintsOf(WriteCheckpoint(folder, "model.ckpt-20", 1, {1, 2}));
  const std::string other = WriteCheckpoint(folder, "model.ckpt-30", 1, {1, 3});
  const Fingerprints longer = FingerprintsOf(WriteCheckpoint(folder, "m-40", 2, {1, 2, 3}));
  CHECK(a.size() == 2);
  CHECK(DifferentNames(a, same).empty());
  CHECK(Fingerprint(a) == Fingerprint(same));
  RemoveFile(BundleDataPath(other, 0, 1));
  CHECK(DifferentNames(a, FingerprintsOf(other)) == std::vector<std::string>{"kernel"});
  CHECK(DifferentNames(a, longer) == std::vector<std::string>{"bias", "kernel"});
  CHECK(DifferentNames({{"x", 1}}, {{"y", 1}}) == std::vector<std::string>{"x", "y"});
  const auto checkpoints = CheckpointsIn(folder.path());
  REQUIRE(checkpoints.size() == 3);
  CHECK(checkpoints.begin()->first == 10);
}

TEST_CASE("losses are compared at the steps that both runs logged") {
  const auto run = [](const std::string& lines) {
    ComparedRun compared;
    compared.series = ParseRunSeries(lines);
    return compared;
  };
  const ComparedRun a =
      run("{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":null}\n"
          "{\"step\":4,\"loss\":1}\n{\"step\":6,\"loss\":0.5}\n");
  const ComparedRun b =
      run("{\"step\":2,\"loss\":null}\n{\"step\":3,\"loss\":9}\n"
          "{\"step\":4,\"loss\":2}\n{\"step\":6,\"loss\":0.25}\n");
  const Parting parting = PartingOf(a, b);
  CHECK(parting.common_losses == 3);
  REQUIRE(parting.losses);
  CHECK(parting.losses->step == 4);
  CHECK(parting.losses->a == 1);
  CHECK(parting.losses->b == 2);
  CHECK_FALSE(PartingOf(a, a).differs());
}

}  // namespace
}  // namespace tpuest::cli
