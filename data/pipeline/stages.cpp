// An input_fn's stages in the job's own order.
//
// Input: the number of the source's records, the stages, and the results of their formulas for each
// record. Output: the next record, and the pass over the source in which it was read. A stage is a
// small state on top of the previous stage, like a dataset's iterator. Only numbers of records flow
// between stages, never records, so a million draws take about 20 ms and a window takes 16 bytes
// per record. The workers read, parse and map the records of a batch in parallel. The result of a
// map op does not depend on its position, except that formulas that filter see only the ops before
// them.
//
// Five records, [repeat: 2, shuffle: 3, take: 8]: the window fills across the passes.
//
//     source and repeat   0 1 2 3 4 0 1 2 3 4
//     shuffle: 3          1 0 3 2 0 4 2 3 1 4     (some such order)
//     take: 8             1 0 3 2 0 4 2 3
//
// Invariant. The n-th record is a function of stages, seed and n. It can be computed only through
// the records before it, so Seek runs the stages again from the start, without reading records.

#include "data/pipeline/stages.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "data/pipeline/stage.h"
#include "data/pipeline/window_shuffle.h"

namespace tpuest::data {
namespace {

// "stage" and "sample": the consumers of the random numbers.
constexpr uint64_t kStageName = 0x7374616765000000ULL;
constexpr uint64_t kSampleName = 0x73616d706c650000ULL;

template <class Item>
class Repeat final : public StageOf<Item> {
 public:
  Repeat(std::unique_ptr<StageOf<Item>> before, int64_t count)
      : before_(std::move(before)), count_(count) {}
  std::optional<Item> Next() override {
    while (count_ < 0 || done_ < count_) {
      if (std::optional<Item> item = before_->Next()) {
        is_empty_ = false;
        return item;
      }
      // A dataset that is empty in one pass is empty in the next as well.
      if (is_empty_) return std::nullopt;
      if (++done_ == count_) return std::nullopt;
      before_->Begin();
      is_empty_ = true;
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    done_ = 0;
    is_empty_ = true;
  }

 private:
  std::unique_ptr<StageOf<Item>> before_;
  int64_t count_;  // -1: for ever
  int64_t done_ = 0;
  bool is_empty_ = true;  // no item in this pass yet
};

template <class Item>
class Shuffle final : public StageOf<Item> {
 public:
  Shuffle(std::unique_ptr<StageOf<Item>> before, int64_t window, RandomKey key, bool reshuffles)
      : before_(std::move(before)), window_(window, key), reshuffles_(reshuffles) {
    window_.Begin(0);
  }
  std::optional<Item> Next() override {
    return window_.Next([this] { return before_->Next(); });
  }
  void Begin() override {
    before_->Begin();
    ++pass_;
    window_.Begin(reshuffles_ ? pass_ : 0);
  }

 private:
  std::unique_ptr<StageOf<Item>> before_;
  WindowShuffle<Item> window_;
  bool reshuffles_;
  int64_t pass_ = 0;
};

// Passes on examples number first, first + step, ... of each pass, below number `end`.
template <class Item>
class Part final : public StageOf<Item> {
 public:
  Part(std::unique_ptr<StageOf<Item>> before, int64_t first, int64_t step,
       std::optional<int64_t> end)
      : before_(std::move(before)), first_(first), step_(step), end_(end) {}
  std::optional<Item> Next() override {
    while (!end_ || at_ < *end_) {
      std::optional<Item> item = before_->Next();
      if (!item) return std::nullopt;
      const int64_t number = at_++;
      if (number >= first_ && (number - first_) % step_ == 0) return item;
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    at_ = 0;
  }

 private:
  std::unique_ptr<StageOf<Item>> before_;
  int64_t first_;
  int64_t step_;
  std::optional<int64_t> end_;
  int64_t at_ = 0;
};

// Repeats the first pass's items in each later pass.
template <class Item>
class Cache final : public StageOf<Item> {
 public:
  explicit Cache(std::unique_ptr<StageOf<Item>> before) : before_(std::move(before)) {}
  std::optional<Item> Next() override {
    if (is_whole_) {
      if (at_ == items_.size()) return std::nullopt;
      return items_[at_++];
    }
    std::optional<Item> item = before_->Next();
    if (item) {
      items_.push_back(*item);
    } else {
      is_whole_ = true;
      at_ = items_.size();
    }
    return item;
  }
  // A pass that ended early is forgotten, as in TensorFlow.
  void Begin() override {
    at_ = 0;
    if (is_whole_) return;
    items_.clear();
    before_->Begin();
  }

 private:
  std::unique_ptr<StageOf<Item>> before_;
  std::vector<Item> items_;
  size_t at_ = 0;
  bool is_whole_ = false;
};

// Passes on examples for which the formula is true; with `ends`, only up to the first for which it
// is false.
class Filter final : public Stage {
 public:
  Filter(std::unique_ptr<Stage> before, std::shared_ptr<const Truths> truths, bool ends)
      : before_(std::move(before)), truths_(std::move(truths)), ends_(ends) {}
  std::optional<Handle> Next() override {
    while (!has_ended_) {
      const std::optional<Handle> handle = before_->Next();
      if (!handle || (*truths_)[static_cast<size_t>(handle->record)]) {
        rejected_ = 0;
        return handle;
      }
      has_ended_ = ends_;
      ++rejected_;
      if (!ends_ && rejected_ > MostRejected()) {
        throw Error(Code::kData, fmt::format("the filter rejected {} examples in a row", rejected_),
                    "after an endless repeat it would wait forever");
      }
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    has_ended_ = false;
  }

 private:
  // More records than the preceding stages can put between two matching ones.
  [[nodiscard]] int64_t MostRejected() const {
    constexpr int64_t kPasses = 1000;
    return kPasses * static_cast<int64_t>(truths_->size());
  }

  std::unique_ptr<Stage> before_;
  std::shared_ptr<const Truths> truths_;
  bool ends_;
  bool has_ended_ = false;
  int64_t rejected_ = 0;  // in a row
};

// Stages that do not depend on the type of their items.
template <class Item>
std::unique_ptr<StageOf<Item>> Behind(std::unique_ptr<StageOf<Item>> before, const StageOptions& o,
                                      size_t index, const StageContext& context) {
  if (o.repeat) return std::make_unique<Repeat<Item>>(std::move(before), *o.repeat);
  if (o.shuffle) {
    const ShuffleOptions shuffle = ShuffleOf(*o.shuffle);
    const RandomKey key{shuffle.seed.value_or(context.seed), kStageName + index};
    return std::make_unique<Shuffle<Item>>(std::move(before), WindowOf(shuffle).value_or(INT64_MAX),
                                           key, shuffle.reshuffle_each_iteration);
  }
  if (o.take && *o.take >= 0) {
    return std::make_unique<Part<Item>>(std::move(before), 0, 1, *o.take);
  }
  if (o.skip) return std::make_unique<Part<Item>>(std::move(before), *o.skip, 1, std::nullopt);
  if (o.shard) {
    return std::make_unique<Part<Item>>(std::move(before), o.shard->index, o.shard->num_shards,
                                        std::nullopt);
  }
  if (o.cache) return std::make_unique<Cache<Item>>(std::move(before));
  return before;
}

// The preceding stage and the datasets that the stage names. `index` selects the random numbers of
// their shuffles, which never coincide with those of the stages themselves.
StageList WithDatasets(std::unique_ptr<Stage> before, const StageOptions& o, size_t index,
                       const StageContext& context) {
  constexpr size_t kStages = 1000;  // more stages than any job has
  StageList datasets;
  datasets.push_back(std::move(before));
  const std::vector<DatasetOptions> others = DatasetsOf(o);
  for (size_t i = 0; i < others.size(); ++i) {
    const Stretch records = context.datasets[index][i];
    std::unique_ptr<Stage> last = RecordsStage(records.first, records.size);
    for (size_t at = 0; at < others[i].stages.size(); ++at) {
      const size_t number = ((index + 1) * kStages + i + 1) * kStages + at;
      last = Behind(std::move(last), AsStage(others[i].stages[at]), number, context);
    }
    datasets.push_back(std::move(last));
  }
  return datasets;
}

std::unique_ptr<Stage> Sampled(StageList datasets, const SampleFromOptions& o, size_t index,
                               const StageContext& context) {
  SampleWeights weights{.weights = o.weights,
                        .key = {o.seed.value_or(context.seed), kSampleName + index},
                        .stops_on_empty = o.stop_on_empty_dataset,
                        .rerandomizes = o.rerandomize_each_iteration};
  if (weights.weights.empty()) weights.weights.assign(datasets.size(), 1.0);
  return SampleStage(std::move(datasets), weights);
}

std::unique_ptr<Stage> OneBehind(std::unique_ptr<Stage> last, const StageOptions& o, size_t index,
                                 const StageContext& context) {
  if (o.interleave) {
    return InterleaveStage(context.file_starts, o.interleave->cycle_length,
                           o.interleave->block_length);
  }
  if (!o.concatenate.empty()) {
    return ConcatenateStage(WithDatasets(std::move(last), o, index, context));
  }
  if (o.sample_from_datasets) {
    return Sampled(WithDatasets(std::move(last), o, index, context), *o.sample_from_datasets, index,
                   context);
  }
  if (!o.filter.empty() || !o.take_while.empty()) {
    return std::make_unique<Filter>(std::move(last), context.truths[index], !o.take_while.empty());
  }
  return Behind(std::move(last), o, index, context);
}

std::unique_ptr<GroupStage> Windows(std::unique_ptr<Stage> last, const WindowOptions& o) {
  return WindowStage(std::move(last), {.size = o.size,
                                       .shift = o.shift.value_or(o.size),
                                       .stride = o.stride,
                                       .drops_remainder = o.drop_remainder});
}

// The last stage's iterator: an example is one record or a group (a window); a group may also be a
// batch (a bucket).
struct Last {
  std::unique_ptr<Stage> records;
  std::unique_ptr<GroupStage> groups;
  // Set only for buckets.
  std::optional<Buckets> buckets;
  bool pads_to_boundary = false;
};

Last Built(const std::vector<StageOptions>& stages, const StageContext& context) {
  Last last{.records = RecordsStage(0, context.records)};
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageOptions& o = stages[i];
    if (o.window) {
      last.groups = Windows(std::move(last.records), *o.window);
    } else if (last.groups) {
      last.groups = Behind(std::move(last.groups), o, i, context);
    } else if (const auto& bucket = o.bucket_by_sequence_length) {
      last.buckets = Buckets{.lengths = context.lengths,
                             .boundaries = bucket->bucket_boundaries,
                             .batch_sizes = bucket->bucket_batch_sizes,
                             .drops_remainder = bucket->drop_remainder};
      last.pads_to_boundary = bucket->pad_to_bucket_boundary;
      last.groups = BucketStage(std::move(last.records), *last.buckets);
    } else {
      last.records = OneBehind(std::move(last.records), o, i, context);
    }
  }
  return last;
}

class StageSampler final : public Sampler {
 public:
  StageSampler(std::vector<StageOptions> stages, StageContext context)
      : stages_(std::move(stages)),
        context_(std::move(context)),
        last_(Built(stages_, context_)),
        window_(WindowSizeOf(stages_)) {}

  void Seek(const StreamPosition& position) override {
    last_ = Built(stages_, context_);
    if (position.epoch > 0) {
      throw Error(Code::kData, "the checkpoint's input position was saved without stages",
                  "resume with the input_fn that the run started with");
    }
    for (drawn_ = 0; drawn_ < position.records;) {
      const int64_t examples = Pass();
      drawn_ += examples;
      if (examples > 0 && drawn_ <= position.records) continue;
      throw Error(
          Code::kData,
          fmt::format("the checkpoint's input position is example {}, but the stages make {}",
                      position.records, drawn_),
          "the data or the stages changed since the checkpoint was saved");
    }
  }

  void Draw(int64_t rows, Drawn& drawn) override {
    drawn.Clear();
    if (last_.buckets) {
      DrawBucket(drawn);
    } else if (last_.groups) {
      DrawWindows(rows, drawn);
    } else {
      while (drawn.rows < rows) {
        const std::optional<Handle> handle = last_.records->Next();
        if (!handle) break;
        Add(*handle, drawn);
        ++drawn.rows;
      }
    }
    drawn_ += drawn.rows;
    drawn.after = {0, drawn_};
  }

  [[nodiscard]] bool cuts_batches() const override {
    return !stages_.empty() && stages_.back().bucket_by_sequence_length.has_value();
  }
  [[nodiscard]] std::string_view seek_way() const override {
    return "its stages run again on record numbers only";
  }

 private:
  // Skips one example or one batch; returns its number of examples, 0 at the end.
  int64_t Pass() {
    if (!last_.groups) return last_.records->Next() ? 1 : 0;
    const std::optional<Group> group = last_.groups->Next();
    if (!group) return 0;
    return last_.buckets ? std::ssize(*group) : 1;
  }

  static void Add(const Handle& handle, Drawn& drawn) {
    if (drawn.stretches.empty() || drawn.stretches.back().epoch != handle.pass) {
      drawn.stretches.push_back({handle.pass, 0});
    }
    ++drawn.stretches.back().rows;
    drawn.records.push_back(handle.record);
  }

  void DrawWindows(int64_t rows, Drawn& drawn) {
    while (drawn.rows < rows) {
      std::optional<Group> group = last_.groups->Next();
      if (!group) break;
      for (const Handle& handle : *group) Add(handle, drawn);
      drawn.window_sizes.push_back(std::ssize(*group));
      // A short window repeats its first record in the missing positions, which are padded later.
      for (int64_t i = std::ssize(*group); i < window_; ++i) Add(group->front(), drawn);
      ++drawn.rows;
    }
  }

  void DrawBucket(Drawn& drawn) {
    const std::optional<Group> group = last_.groups->Next();
    if (!group) return;
    for (const Handle& handle : *group) Add(handle, drawn);
    drawn.rows = std::ssize(*group);
    if (!last_.pads_to_boundary) return;
    const Buckets& buckets = *last_.buckets;
    const int64_t length = (*buckets.lengths)[static_cast<size_t>(group->front().record)];
    const size_t bucket = buckets.Of(length);
    if (bucket == buckets.boundaries.size()) {
      throw Error(Code::kData,
                  fmt::format("an example's length is {}, and the last bucket boundary {}", length,
                              buckets.boundaries.back()),
                  "with pad_to_bucket_boundary, make the last boundary larger than all lengths");
    }
    drawn.list_length = buckets.boundaries[bucket] - 1;
  }

  std::vector<StageOptions> stages_;
  StageContext context_;
  Last last_;
  int64_t window_;  // records per example
  int64_t drawn_ = 0;
};

bool IsEndless(const StageOptions& stage, bool before);

// Whether a dataset that the stage names is endless.
bool HasEndlessDataset(const StageOptions& o, bool all) {
  const std::vector<DatasetOptions> datasets = DatasetsOf(o);
  const auto is_endless = [](const DatasetOptions& dataset) {
    bool endless = false;
    for (const OrderStageOptions& stage : dataset.stages) {
      endless = IsEndless(AsStage(stage), endless);
    }
    return endless;
  };
  return all ? std::all_of(datasets.begin(), datasets.end(), is_endless)
             : std::any_of(datasets.begin(), datasets.end(), is_endless);
}

// Whether the output of the stage is endless.
bool IsEndless(const StageOptions& stage, bool before) {
  if (stage.repeat) return *stage.repeat < 0 || (before && *stage.repeat != 0);
  if (stage.take && *stage.take >= 0) return false;
  if (!stage.concatenate.empty()) return before || HasEndlessDataset(stage, false);
  if (!stage.sample_from_datasets) return before;
  if (stage.sample_from_datasets->stop_on_empty_dataset) {
    return before && HasEndlessDataset(stage, true);
  }
  return before || HasEndlessDataset(stage, false);
}

}  // namespace

int64_t WindowSizeOf(const std::vector<StageOptions>& stages) {
  for (const StageOptions& stage : stages) {
    if (stage.window) return stage.window->size;
  }
  return 1;
}

std::optional<int64_t> CountOf(const std::vector<StageOptions>& stages,
                               const StageContext& context) {
  bool is_endless = false;
  for (const StageOptions& stage : stages) is_endless = IsEndless(stage, is_endless);
  if (is_endless) return std::nullopt;
  const Last last = Built(stages, context);
  int64_t count = 0;
  if (last.groups) {
    while (const std::optional<Group> group = last.groups->Next()) {
      count += last.buckets ? std::ssize(*group) : 1;
    }
    return count;
  }
  while (last.records->Next()) ++count;
  return count;
}

std::unique_ptr<Sampler> MakeSampler(const std::vector<StageOptions>& stages,
                                     const StageContext& context) {
  return std::make_unique<StageSampler>(stages, context);
}

}  // namespace tpuest::data
