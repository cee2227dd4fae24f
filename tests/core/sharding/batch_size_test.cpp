#include "core/sharding/batch_size.h"

#include <doctest/doctest.h>

namespace tpuest {

TEST_CASE("a batch that divides by the replicas has no fault") {
  CHECK(!CheckBatchSize("train", 8, 8));
  CHECK(!CheckBatchSize("eval", 1024, 8));
  CHECK(!CheckBatchSize("predict", 7, 1));
}

TEST_CASE("a batch that does not divide is told with the nearest values that do") {
  const std::optional<Fault> small = CheckBatchSize("train", 6, 8);
  REQUIRE(small);
  CHECK(small->message == "train batch size 6 must be divisible by number of replicas 8");
  CHECK(small->hint ==
        "nearest: train_batch_size=8, or tpu_config.num_shards=6, or tpuest.uneven_batches=pad");
  CHECK(small->key == "train_batch_size");

  const std::optional<Fault> between = CheckBatchSize("eval", 100, 8);
  REQUIRE(between);
  CHECK(between->message == "eval batch size 100 must be divisible by number of replicas 8");
  CHECK(between->hint ==
        "nearest: eval_batch_size=96, or eval_batch_size=104, or tpu_config.num_shards=5, or "
        "tpuest.uneven_batches=pad");
}

TEST_CASE("a batch is filled up to the next one that divides") {
  CHECK(FilledUpSize(6, 8) == 8);
  CHECK(FilledUpSize(100, 8) == 104);
  CHECK(FilledUpSize(96, 8) == 96);
}

TEST_CASE("the nearest number of replicas divides the batch") {
  CHECK(NearestReplicas(7, 8) == 7);
  CHECK(NearestReplicas(9, 8) == 3);
  CHECK(NearestReplicas(11, 8) == 1);
  CHECK(NearestReplicas(1, 8) == 1);
}

}  // namespace tpuest
