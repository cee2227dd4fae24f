// Tests which step is the first at which runs differ, and which keys can be the cause.

#include "cli/run/record/compare.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/job/job.h"
#include "cli/run/record/checkpoint_fingerprint.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

// Returns what the key's declaration says; "input_fns.<name>.cache" as in the schema.
bool ChangesBits(std::string_view path) {
  static const std::vector<config::SchemaKey> kKeys = config::Schema<Job>();
  const auto key = std::ranges::find(kKeys, path, &config::SchemaKey::path);
  REQUIRE_MESSAGE(key != kKeys.end(), path);
  return key->changes_bits;
}

TEST_CASE("paths of outputs, periods of writing and threads change no bit") {
  CHECK_FALSE(ChangesBits("name"));
  CHECK_FALSE(ChangesBits("run_config.model_dir"));
  CHECK_FALSE(ChangesBits("run_config.session_config.intra_op_parallelism_threads"));
  CHECK_FALSE(ChangesBits("run_config.keep_best.metric"));
  CHECK_FALSE(ChangesBits("run_config.tpu_config.iterations_per_loop"));
  CHECK_FALSE(ChangesBits("eval_spec.<name>.steps"));
  CHECK_FALSE(ChangesBits("train_spec.max_steps"));
  CHECK_FALSE(ChangesBits("input_fns.<name>.prefetch"));
  CHECK_FALSE(ChangesBits("tpuest.deadlines.evaluator_secs"));
  CHECK(ChangesBits("input_fns.<name>.shuffle.seed"));
  CHECK(ChangesBits("run_config"));
  CHECK(ChangesBits("run_config.tf_random_seed"));
  CHECK(ChangesBits("run_config.tpu_config.num_shards"));
  CHECK(ChangesBits("train_spec.hooks"));
  CHECK(ChangesBits("model.layers"));
  CHECK(ChangesBits("tpuest.matmul_precision"));
}

// A run that trains on an input_fn and has these keys, whose values identify the run.
ComparedRun RunOf(const std::string& train_input, const std::string& value) {
  ComparedRun run;
  run.train_input = train_input;
  for (const char* const path : {"input_fns.test.source.count", "input_fns.train.source.count"}) {
    run.keys.push_back({path, value, "", true});
  }
  run.keys.push_back({"input_fns.train.prefetch", value, "", false});
  return run;
}

TEST_CASE("an input_fn changes bits if a run trains on it") {
  const auto candidates = [](const std::vector<ComparedRun>& runs) {
    return CandidatesOf(KeyDifferences(runs), {});
  };
  CHECK(candidates({RunOf("train", "1"), RunOf("train", "2")}) ==
        std::vector<std::string>{"input_fns.train.source.count"});
  CHECK(candidates({RunOf("tra", "1"), RunOf("tra", "2")}).empty());
  CHECK(candidates({RunOf("test", "1"), RunOf("train", "2")}).size() == 2);
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

TEST_CASE("fingerprints distinguish values, shapes and names by reading only the index") {
  const TemporaryFolder folder;
  const Fingerprints a = FingerprintsOf(WriteCheckpoint(folder, "model.ckpt-10", 1, {1, 2}));
  const Fingerprints same = FingerprintsOf(WriteCheckpoint(folder, "model.ckpt-20", 1, {1, 2}));
  const std::string other = WriteCheckpoint(folder, "model.ckpt-30", 1, {1, 3});
  const Fingerprints longer = FingerprintsOf(WriteCheckpoint(folder, "m-40", 2, {1, 2, 3}));
  CHECK(a.size() == 2);
  CHECK(DifferentNames(a, same).empty());
  CHECK(a == same);
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
