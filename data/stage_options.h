#pragma once
// The stages of an input_fn in the job's own order, like a chain of calls of tf.data's methods. See
// core/base/visit.h.

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

namespace tpuest::data {

// Dataset.shuffle. The order is a pure function of seed and epoch (pipeline/sampler.cpp).
struct ShuffleOptions {
  std::variant<std::string, int64_t> buffer_size = "full";
  std::optional<uint64_t> seed;
  bool reshuffle_each_iteration = true;

  template <class V>
  void Visit(V& v) {
    v("buffer_size", buffer_size,
      {.help = "`full` is an exact permutation; a number is the size of TensorFlow's shuffle "
               "window in records",
       .required = true,
       .values = {"full"}});
    v("seed", seed, {.help = "seed of the shuffle; `null` takes it from tf_random_seed"});
    v("reshuffle_each_iteration", reshuffle_each_iteration,
      {.help = "use another order in each epoch"});
  }
};

// Dataset.shard: records index, index + num_shards, ... of the preceding stage.
struct ShardOptions {
  int64_t num_shards = 1;
  int64_t index = 0;

  template <class V>
  void Visit(V& v) {
    v("num_shards", num_shards, {.help = "number of parts", .required = true});
    v("index", index, {.help = "index of the part to read, from 0", .required = true});
  }
};

// A stage of a dataset that another stage names; has exactly one of the keys.
struct OrderStageOptions {
  std::optional<int64_t> repeat;
  std::optional<std::variant<int64_t, ShuffleOptions>> shuffle;
  std::optional<int64_t> take;
  std::optional<int64_t> skip;
  std::optional<ShardOptions> shard;

  template <class V>
  void Visit(V& v) {
    v("repeat", repeat, {.help = "number of passes over the stages before it; -1 repeats forever"});
    v("shuffle", shuffle,
      {.help = "shuffles in a window of this many examples, which fills across passes of an "
               "earlier repeat"});
    v("take", take, {.help = "number of examples to use per pass; -1 uses all"});
    v("skip", skip, {.help = "number of examples to skip at the start of each pass"});
    v("shard", shard, {.help = "keeps every N-th example of a pass"});
  }
};

// Another dataset, with the same columns.
struct DatasetOptions {
  SourceOptions source;
  std::vector<OrderStageOptions> stages;

  template <class V>
  void Visit(V& v) {
    v("source", source,
      {.help = "source of the dataset's records", .required = true, .tpuest = true});
    v("stages", stages, {.help = "stages of the dataset, in order", .tpuest = true});
  }
};

// Dataset.sample_from_datasets; the first dataset is the preceding stage.
struct SampleFromOptions {
  std::vector<DatasetOptions> datasets;
  std::vector<double> weights;
  std::optional<uint64_t> seed;
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = false;

  template <class V>
  void Visit(V& v) {
    v("datasets", datasets,
      {.help = "further datasets, besides the stages before this one", .required = true});
    v("weights", weights,
      {.help = "probability of each dataset, first that of the stages before this one; [] weighs "
               "all equally"});
    v("seed", seed, {.help = "seed of the draws; `null` takes it from tf_random_seed"});
    v("stop_on_empty_dataset", stop_on_empty_dataset,
      {.help = "`true` ends a pass with the first dataset that ends; `false` with the last"});
    v("rerandomize_each_iteration", rerandomize_each_iteration,
      {.help = "draw again in each pass"});
  }
};

// Dataset.interleave over the files of the source.
struct InterleaveOptions {
  int64_t cycle_length = 1;
  int64_t block_length = 1;

  template <class V>
  void Visit(V& v) {
    v("cycle_length", cycle_length, {.help = "number of files to read in turns", .required = true});
    v("block_length", block_length, {.help = "number of records per turn of a file"});
  }
};

// Dataset.window; the examples of a window are stacked.
struct WindowOptions {
  int64_t size = 1;
  std::optional<int64_t> shift;
  int64_t stride = 1;
  bool drop_remainder = false;

  template <class V>
  void Visit(V& v) {
    v("size", size, {.help = "number of examples in a window", .required = true});
    v("shift", shift, {.help = "examples between the starts of windows; `null` is size"});
    v("stride", stride, {.help = "take every N-th example into the window"});
    v("drop_remainder", drop_remainder,
      {.help = "leave out short windows; `false` keeps them, and padded_batch pads them"});
  }
};

// The padded length of a batch's lists, and the padding values. The first axis of a column's shape
// is the list's.
struct PaddingOptions {
  std::map<std::string, std::vector<int64_t>> padded_shapes;
  std::map<std::string, Raw> padding_values;

  template <class V>
  void VisitPadding(V& v) {
    v("padded_shapes", padded_shapes,
      {.help = "lengths by column, such as [20]; columns without a length, and -1, take the "
               "batch's longest"});
    v("padding_values", padding_values, {.help = "padding by column; default: 0, false and \"\""});
  }
};

// Dataset.padded_batch.
struct PaddedBatchOptions : PaddingOptions {
  std::optional<int64_t> batch_size;

  template <class V>
  void Visit(V& v) {
    v("batch_size", batch_size, {.help = "must equal train_batch_size"});
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
      {.help = "length of an example: a column of lists, or a formula that returns a whole number",
       .required = true});
    v("bucket_boundaries", bucket_boundaries,
      {.help = "upper limits of the buckets, excluded; the last bucket has none",
       .required = true});
    v("bucket_batch_sizes", bucket_batch_sizes,
      {.help = "batch size of each bucket, one more than boundaries", .required = true});
    VisitPadding(v);
    v("pad_to_bucket_boundary", pad_to_bucket_boundary,
      {.help = "pad lists to the largest length of their bucket"});
    v("no_padding", no_padding, {.help = "keep lists at their own lengths"});
    v("drop_remainder", drop_remainder, {.help = "leave out short batches at the end"});
  }
};

// One stage; has exactly one of the keys.
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
    v("repeat", repeat, {.help = "number of passes over the stages before it; -1 repeats forever"});
    v("shuffle", shuffle,
      {.help = "shuffles in a window of this many examples, which fills across passes of an "
               "earlier repeat"});
    v("take", take, {.help = "number of examples to use per pass; -1 uses all"});
    v("skip", skip, {.help = "number of examples to skip at the start of each pass"});
    v("shard", shard, {.help = "keeps every N-th example of a pass"});
    v("map", map, {.help = "ops on columns, in order"});
    v("filter", filter,
      {.help = "formula of an example's columns; examples for which it is false are left out"});
    v("take_while", take_while,
      {.help = "formula of an example's columns; a pass ends before the first example for which it "
               "is false"});
    v("concatenate", concatenate, {.help = "datasets that follow the stages before it"});
    v("sample_from_datasets", sample_from_datasets,
      {.help = "draws examples from the stages before it and from other datasets, by weight"});
    v("interleave", interleave,
      {.help = "reads the source's files in turns; must be the first stage"});
    v("cache", cache,
      {.help = "repeats the examples of the first pass in later passes; `memory`, or a file that "
               "keeps the source's records for later runs"});
    v("window", window, {.help = "stacks this many consecutive examples into one"});
    v("batch", batch,
      {.help = "batch size, which must equal train_batch_size; must be the last stage"});
    v("padded_batch", padded_batch,
      {.help = "pads the lists of a batch to one length; must be the last stage"});
    v("bucket_by_sequence_length", bucket_by_sequence_length,
      {.help = "batches examples of similar length; must be the last stage"});
  }
};

}  // namespace tpuest::data
