// Checks a list of stages before any file is opened.

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "data/at_least.h"
#include "data/pipeline/stages.h"

namespace tpuest::data {
namespace {

// The names of the keys that a stage sets.
std::vector<std::string> KeysOf(const StageOptions& o) {
  std::vector<std::string> keys;
  const auto add = [&](bool has, const char* name) {
    if (has) keys.emplace_back(name);
  };
  add(o.repeat.has_value(), "repeat");
  add(o.shuffle.has_value(), "shuffle");
  add(o.take.has_value(), "take");
  add(o.skip.has_value(), "skip");
  add(o.shard.has_value(), "shard");
  add(!o.map.empty(), "map");
  add(!o.filter.empty(), "filter");
  add(!o.take_while.empty(), "take_while");
  add(!o.concatenate.empty(), "concatenate");
  add(o.sample_from_datasets.has_value(), "sample_from_datasets");
  add(o.interleave.has_value(), "interleave");
  add(o.cache.has_value(), "cache");
  add(o.window.has_value(), "window");
  add(o.batch.has_value(), "batch");
  add(o.padded_batch.has_value(), "padded_batch");
  add(o.bucket_by_sequence_length.has_value(), "bucket_by_sequence_length");
  return keys;
}

[[noreturn]] void Refuse(const std::string& key, std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint)).Key(key);
}

void CheckStage(const StageOptions& o, const std::string& key) {
  const std::vector<std::string> keys = KeysOf(o);
  if (keys.empty()) Refuse(key, "the stage has no key", "- repeat: 2, - shuffle: 64, ...");
  if (keys.size() > 1) {
    Refuse(key, fmt::format("expected one step per stage, found {}", Join(keys, " and ")),
           fmt::format("- {}: ...\n- {}: ...", keys[0], keys[1]));
  }
  ExpectAtLeast(o.repeat, -1, key, "repeat");
  ExpectAtLeast(o.take, -1, key, "take");
  ExpectAtLeast(o.skip, 0, key, "skip");
  ExpectAtLeast(o.batch, 1, key, "batch");
  if (o.padded_batch) ExpectAtLeast(o.padded_batch->batch_size, 1, key, "padded_batch.batch_size");
  if (o.shuffle) ExpectAtLeast(WindowOf(ShuffleOf(*o.shuffle)), 1, key, "shuffle");
  if (o.window) {
    ExpectAtLeast(o.window->size, 1, key, "window.size");
    ExpectAtLeast(o.window->shift, 1, key, "window.shift");
    ExpectAtLeast(o.window->stride, 1, key, "window.stride");
  }
  if (o.cache && o.cache->empty()) Refuse(key + ".cache", "expected memory or a file");
  if (o.shard &&
      (o.shard->num_shards < 1 || o.shard->index < 0 || o.shard->index >= o.shard->num_shards)) {
    Refuse(key + ".shard",
           fmt::format("index {} is out of range: num_shards is {}", o.shard->index,
                       o.shard->num_shards),
           "index counts from 0 to num_shards - 1");
  }
}

void CheckWeights(const SampleFromOptions& o, const std::string& key) {
  const size_t datasets = o.datasets.size() + 1;
  if (!o.weights.empty() && o.weights.size() != datasets) {
    Refuse(
        key + ".weights",
        fmt::format("{} weights for {} datasets, counting the stages before this one as the first",
                    o.weights.size(), datasets),
        "give one weight per dataset, or none");
  }
  double sum = 0;
  for (const double weight : o.weights) {
    if (!(weight >= 0 && weight <= 1e9)) {
      Refuse(key + ".weights", fmt::format("a weight is {}; expected 0 or more", weight));
    }
    sum += weight;
  }
  if (!o.weights.empty() && !(sum > 0)) Refuse(key + ".weights", "all weights are 0");
}

void CheckDatasets(const StageOptions& o, const std::string& key) {
  if (o.sample_from_datasets) {
    CheckWeights(*o.sample_from_datasets, key + ".sample_from_datasets");
  }
  const std::string list =
      key + (o.sample_from_datasets ? ".sample_from_datasets.datasets" : ".concatenate");
  const std::vector<DatasetOptions> datasets = DatasetsOf(o);
  for (size_t i = 0; i < datasets.size(); ++i) {
    for (size_t at = 0; at < datasets[i].stages.size(); ++at) {
      CheckStage(AsStage(datasets[i].stages[at]), fmt::format("{}[{}].stages[{}]", list, i, at));
    }
  }
}

void CheckInterleave(const InterleaveOptions& o, size_t index, const std::string& key) {
  if (index > 0) {
    Refuse(key, "interleave must be the first stage: it alternates between the source's files",
           "put the other stages after it");
  }
  ExpectAtLeast(o.cycle_length, 1, key + ".interleave", "cycle_length");
  ExpectAtLeast(o.block_length, 1, key + ".interleave", "block_length");
}

void CheckBuckets(const BucketOptions& o, const std::string& key) {
  const std::vector<int64_t>& ends = o.bucket_boundaries;
  if (ends.empty() ||
      std::adjacent_find(ends.begin(), ends.end(), std::greater_equal<>()) != ends.end()) {
    Refuse(key + ".bucket_boundaries", "expected increasing whole numbers");
  }
  if (o.bucket_batch_sizes.size() != ends.size() + 1) {
    Refuse(
        key + ".bucket_batch_sizes",
        fmt::format("{} batch sizes for {} buckets", o.bucket_batch_sizes.size(), ends.size() + 1),
        "give one per boundary, and one for examples longer than the last boundary");
  }
  for (const int64_t size : o.bucket_batch_sizes) {
    if (size >= 1) continue;
    Refuse(key + ".bucket_batch_sizes", fmt::format("{}; expected 1 or more", size));
  }
  if (o.no_padding &&
      (o.pad_to_bucket_boundary || !o.padded_shapes.empty() || !o.padding_values.empty())) {
    Refuse(key + ".no_padding", "no_padding conflicts with the keys that pad lists",
           "remove no_padding, or the padding keys");
  }
}

// After a window, single records are not available.
void CheckBehindWindow(const StageOptions& o, const std::string& key) {
  const bool looks = !o.filter.empty() || !o.take_while.empty() || o.window || o.interleave ||
                     !o.concatenate.empty() || o.sample_from_datasets ||
                     o.bucket_by_sequence_length;
  if (!looks) return;
  Refuse(key, fmt::format("{} follows a window", KeysOf(o).front()),
         "put it before the window; after a window are allowed map, repeat, shuffle, take, skip, "
         "shard, cache "
         "and batches");
}

// As in tf.data, map ops before a join apply only to the records before it, but columns are
// computed from all records in the same way.
void CheckBehindMap(const StageOptions& o, const std::string& key, const std::string& map_key) {
  if (o.concatenate.empty() && !o.sample_from_datasets) return;
  Refuse(map_key, fmt::format("map precedes {}, whose datasets would bypass it", KeysOf(o).front()),
         fmt::format("put it after {}, where it applies to all examples", key));
}

bool EndsList(const StageOptions& o) {
  return o.batch || o.padded_batch || o.bucket_by_sequence_length;
}

}  // namespace

ShuffleOptions ShuffleOf(const std::variant<int64_t, ShuffleOptions>& shuffle) {
  if (const auto* const options = std::get_if<ShuffleOptions>(&shuffle)) return *options;
  return {.buffer_size = std::get<int64_t>(shuffle)};
}

std::optional<int64_t> WindowOf(const ShuffleOptions& options) {
  const auto* const size = std::get_if<int64_t>(&options.buffer_size);
  return size == nullptr ? std::nullopt : std::optional(*size);
}

StageOptions AsStage(const OrderStageOptions& o) {
  return {
      .repeat = o.repeat, .shuffle = o.shuffle, .take = o.take, .skip = o.skip, .shard = o.shard};
}

void CheckStageList(const std::vector<StageOptions>& stages, const std::string& key) {
  bool is_window = false;
  std::optional<std::string> map_key;  // key of the first map
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageOptions& o = stages[i];
    const std::string stage_key = fmt::format("{}[{}]", key, i);
    CheckStage(o, stage_key);
    CheckDatasets(o, stage_key);
    if (o.interleave) CheckInterleave(*o.interleave, i, stage_key);
    if (is_window) CheckBehindWindow(o, stage_key);
    if (map_key) CheckBehindMap(o, stage_key, *map_key);
    if (!o.map.empty() && !map_key) map_key = stage_key + ".map";
    if (const auto& bucket = o.bucket_by_sequence_length) {
      CheckBuckets(*bucket, stage_key + ".bucket_by_sequence_length");
    }
    is_window = is_window || o.window;
    if (EndsList(o) && i + 1 < stages.size()) {
      Refuse(stage_key,
             fmt::format("{} must be the last stage: a stage after it would see batches",
                         KeysOf(o).front()),
             "put the other stages before it");
    }
  }
  const bool is_padded = !stages.empty() && stages.back().padded_batch;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].window || stages[i].window->drop_remainder || is_padded) continue;
    Refuse(fmt::format("{}[{}].window.drop_remainder", key, i),
           "the last windows of a pass are shorter, and a batch needs windows of one size",
           "drop_remainder: true drops them; a padded_batch at the end pads them");
  }
}

}  // namespace tpuest::data
