#pragma once
// The stages of an input_fn in the job's own order, as tf.data's methods are called one after the
// other. See core/base/visit.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "data/map_options.h"

namespace tpuest {

// Dataset.shuffle. The order is a pure function of seed and epoch (pipeline/sampler.cpp).
struct ShuffleOptions {
  std::variant<std::string, int64_t> buffer_size = "full";
  std::optional<uint64_t> seed;
  bool reshuffle_each_iteration = true;

  template <class V>
  void Visit(V& v) {
    v("buffer_size", buffer_size,
      {.help = "full: an exact permutation; a number: TensorFlow's window of so many records",
       .required = true,
       .values = {"full"}});
    v("seed", seed, {.help = "null: from tf_random_seed"});
    v("reshuffle_each_iteration", reshuffle_each_iteration,
      {.help = "another order in each epoch"});
  }
};

// Dataset.shard: records index, index + num_shards, ... of those before it.
struct ShardOptions {
  int64_t num_shards = 1;
  int64_t index = 0;

  template <class V>
  void Visit(V& v) {
    v("num_shards", num_shards, {.help = "parts that the records are dealt to", .required = true});
    v("index", index, {.help = "the part that is read, counted from 0", .required = true});
  }
};

// One stage: one of its keys.
struct StageOptions {
  std::optional<int64_t> repeat;
  std::optional<std::variant<int64_t, ShuffleOptions>> shuffle;
  std::optional<int64_t> take;
  std::optional<int64_t> skip;
  std::optional<ShardOptions> shard;
  std::vector<MapOptions> map;
  Formula filter;
  Formula take_while;
  std::optional<int64_t> batch;

  template <class V>
  void Visit(V& v) {
    v("repeat", repeat, {.help = "passes over what is before it; -1: for ever"});
    v("shuffle", shuffle, {.help = "a window of so many, which fills across passes before it"});
    v("take", take, {.help = "so many of a pass; -1: all"});
    v("skip", skip, {.help = "so many of a pass are left out at its start"});
    v("shard", shard, {.help = "every so-many-th of a pass"});
    v("map", map, {.help = "ops on columns, in order"});
    v("filter", filter,
      {.help = "a formula of an example's columns: examples for which it is false are left out"});
    v("take_while", take_while,
      {.help = "a formula of an example's columns: a pass ends before the first for which it is "
               "false"});
    v("batch", batch, {.help = "train_batch_size, as a check; the last stage"});
  }
};

}  // namespace tpuest
