#pragma once
// The stages of an input_fn in the job's own order, as tf.data's methods are called one after the
// other. See core/base/visit.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "data/map_options.h"
#include "data/source_options.h"

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

// A stage of a dataset that another stage names: one of its keys.
struct OrderStageOptions {
  std::optional<int64_t> repeat;
  std::optional<std::variant<int64_t, ShuffleOptions>> shuffle;
  std::optional<int64_t> take;
  std::optional<int64_t> skip;
  std::optional<ShardOptions> shard;

  template <class V>
  void Visit(V& v) {
    v("repeat", repeat, {.help = "passes over what is before it; -1: for ever"});
    v("shuffle", shuffle, {.help = "a window of so many, which fills across passes before it"});
    v("take", take, {.help = "so many of a pass; -1: all"});
    v("skip", skip, {.help = "so many of a pass are left out at its start"});
    v("shard", shard, {.help = "every so-many-th of a pass"});
  }
};

// Another dataset, of the same columns.
struct DatasetOptions {
  SourceOptions source;
  std::vector<OrderStageOptions> stages;

  template <class V>
  void Visit(V& v) {
    v("source", source, {.help = "where its records come from", .required = true, .tpuest = true});
    v("stages", stages, {.help = "what they go through, in order", .tpuest = true});
  }
};

// Dataset.sample_from_datasets; the first dataset is what is before the stage.
struct SampleFromOptions {
  std::vector<DatasetOptions> datasets;
  std::vector<double> weights;
  std::optional<uint64_t> seed;
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = false;

  template <class V>
  void Visit(V& v) {
    v("datasets", datasets, {.help = "beside what is before the stage", .required = true});
    v("weights", weights,
      {.help = "how often each is drawn, what is before the stage first; []: all as often"});
    v("seed", seed, {.help = "null: from tf_random_seed"});
    v("stop_on_empty_dataset", stop_on_empty_dataset,
      {.help = "a pass ends with the first dataset that ends; false: with the last"});
    v("rerandomize_each_iteration", rerandomize_each_iteration,
      {.help = "other draws in each pass"});
  }
};

// Dataset.interleave over the files of the source.
struct InterleaveOptions {
  int64_t cycle_length = 1;
  int64_t block_length = 1;

  template <class V>
  void Visit(V& v) {
    v("cycle_length", cycle_length, {.help = "files that are read in turns", .required = true});
    v("block_length", block_length, {.help = "records of a file in its turn"});
  }
};

// Dataset.window, with the windows' examples stacked.
struct WindowOptions {
  int64_t size = 1;
  std::optional<int64_t> shift;
  int64_t stride = 1;
  bool drop_remainder = false;

  template <class V>
  void Visit(V& v) {
    v("size", size, {.help = "examples of a window", .required = true});
    v("shift", shift, {.help = "examples from one window's start to the next; null: size"});
    v("stride", stride, {.help = "every so-many-th example is in the window"});
    v("drop_remainder", drop_remainder,
      {.help = "leave out windows that are short; false: a padded_batch fills them up"});
  }
};

// How long lists of a batch become, and what fills them up. The first axis of a column's shape is
// the list's.
struct PaddingOptions {
  std::map<std::string, std::vector<int64_t>> padded_shapes;
  std::map<std::string, Raw> padding_values;

  template <class V>
  void VisitPadding(V& v) {
    v("padded_shapes", padded_shapes,
      {.help = "by column, [20]: lists of so many; without, and -1: as the batch's longest"});
    v("padding_values", padding_values, {.help = "by column; without: 0, false and \"\""});
  }
};

// Dataset.padded_batch.
struct PaddedBatchOptions : PaddingOptions {
  std::optional<int64_t> batch_size;

  template <class V>
  void Visit(V& v) {
    v("batch_size", batch_size, {.help = "train_batch_size, as a check"});
    VisitPadding(v);
  }
};

// Dataset.bucket_by_sequence_length.
struct BucketOptions : PaddingOptions {
  Formula element_length_func;
  std::vector<int64_t> bucket_boundaries;
  std::vector<int64_t> bucket_batch_sizes;
  bool pad_to_bucket_boundary = false;
  bool no_padding = false;
  bool drop_remainder = false;

  template <class V>
  void Visit(V& v) {
    v("element_length_func", element_length_func,
      {.help = "an example's length: a column of lists, or a formula that gives a whole number",
       .required = true});
    v("bucket_boundaries", bucket_boundaries,
      {.help = "upper ends of the buckets, which are none of theirs; the last bucket has no end",
       .required = true});
    v("bucket_batch_sizes", bucket_batch_sizes,
      {.help = "examples of a batch of each bucket, one more than boundaries", .required = true});
    VisitPadding(v);
    v("pad_to_bucket_boundary", pad_to_bucket_boundary,
      {.help = "lists become as long as their bucket has at most"});
    v("no_padding", no_padding, {.help = "lists stay lists of any length"});
    v("drop_remainder", drop_remainder, {.help = "leave out short batches at the end"});
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
  std::vector<DatasetOptions> concatenate;
  std::optional<SampleFromOptions> sample_from_datasets;
  std::optional<InterleaveOptions> interleave;
  std::optional<std::string> cache;
  std::optional<WindowOptions> window;
  std::optional<int64_t> batch;
  std::optional<PaddedBatchOptions> padded_batch;
  std::optional<BucketOptions> bucket_by_sequence_length;

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
    v("concatenate", concatenate, {.help = "datasets that follow what is before the stage"});
    v("sample_from_datasets", sample_from_datasets,
      {.help = "examples of what is before the stage and of other datasets, drawn by weight"});
    v("interleave", interleave, {.help = "the source's files in turns; the first stage"});
    v("cache", cache,
      {.help = "passes behind it give the first one's examples again; memory, or a file that keeps "
               "the source's records for later runs"});
    v("window", window, {.help = "so many examples one after the other as one, stacked"});
    v("batch", batch, {.help = "train_batch_size, as a check; the last stage"});
    v("padded_batch", padded_batch,
      {.help = "lists of a batch filled up to one length; the last stage"});
    v("bucket_by_sequence_length", bucket_by_sequence_length,
      {.help = "batches of examples that are about as long; the last stage"});
  }
};

}  // namespace tpuest
