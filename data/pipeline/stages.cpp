// An input_fn's stages in the job's own order.
//
// In: how many records the source has, the stages, and what their formulas say of each record. Out:
// which record comes next, and in which pass over the source it was met. A stage is a small state
// over the one before it, as a dataset's iterator is; what flows between them is the number of a
// record, never the record itself, so that a million draws take some 20 ms and a window holds 16
// bytes a record. Records are read, parsed and mapped by the workers, side by side, once they are
// in a batch: what a map op computes does not depend on where it stands, but for formulas that
// filter, which see the ops before them.
//
// Five records, [repeat: 2, shuffle: 3, take: 8]: the window fills across the passes.
//
//     source and repeat   0 1 2 3 4 0 1 2 3 4
//     shuffle: 3          1 0 3 2 0 4 2 3 1 4     (some such order)
//     take: 8             1 0 3 2 0 4 2 3
//
// Invariant. The n-th record is a function of stages, seed and n. There is no way to it but through
// those before, so Seek runs the stages again from the start, without reading anything.

#include "data/pipeline/stages.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "data/pipeline/stage.h"
#include "data/pipeline/window_shuffle.h"

namespace tpuest {
namespace {

// "stage" and "sample": whose random numbers these are.
constexpr uint64_t kStageName = 0x7374616765000000ULL;
constexpr uint64_t kSampleName = 0x73616d706c650000ULL;

class Repeat final : public Stage {
 public:
  Repeat(std::unique_ptr<Stage> before, int64_t count)
      : before_(std::move(before)), count_(count) {}
  std::optional<Handle> Next() override {
    while (count_ < 0 || done_ < count_) {
      if (const std::optional<Handle> handle = before_->Next()) {
        is_empty_ = false;
        return handle;
      }
      // What has nothing in a pass has nothing in the next one.
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
  std::unique_ptr<Stage> before_;
  int64_t count_;  // -1: for ever
  int64_t done_ = 0;
  bool is_empty_ = true;  // the pass so far
};

class Shuffle final : public Stage {
 public:
  Shuffle(std::unique_ptr<Stage> before, int64_t window, RandomKey key, bool reshuffles)
      : before_(std::move(before)), window_(window, key), reshuffles_(reshuffles) {
    window_.Begin(0);
  }
  std::optional<Handle> Next() override {
    return window_.Next([this] { return before_->Next(); });
  }
  void Begin() override {
    before_->Begin();
    ++pass_;
    window_.Begin(reshuffles_ ? pass_ : 0);
  }

 private:
  std::unique_ptr<Stage> before_;
  WindowShuffle<Handle> window_;
  bool reshuffles_;
  int64_t pass_ = 0;
};

// Examples number first, first + step, ... of each pass, up to number `end`.
class Part final : public Stage {
 public:
  Part(std::unique_ptr<Stage> before, int64_t first, int64_t step, std::optional<int64_t> end)
      : before_(std::move(before)), first_(first), step_(step), end_(end) {}
  std::optional<Handle> Next() override {
    while (!end_ || at_ < *end_) {
      const std::optional<Handle> handle = before_->Next();
      if (!handle) return std::nullopt;
      const int64_t number = at_++;
      if (number >= first_ && (number - first_) % step_ == 0) return handle;
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    at_ = 0;
  }

 private:
  std::unique_ptr<Stage> before_;
  int64_t first_;
  int64_t step_;
  std::optional<int64_t> end_;
  int64_t at_ = 0;
};

// Examples whose records are true; with `ends` up to the first that is not.
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
        throw Error(Code::kData,
                    fmt::format("a filter leaves out {} examples one after the other", rejected_),
                    "behind a repeat without an end it would wait for ever");
      }
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    has_ended_ = false;
  }

 private:
  // More than stages before it can put between two records.
  [[nodiscard]] int64_t MostRejected() const {
    constexpr int64_t kPasses = 1000;
    return kPasses * static_cast<int64_t>(truths_->size());
  }

  std::unique_ptr<Stage> before_;
  std::shared_ptr<const Truths> truths_;
  bool ends_;
  bool has_ended_ = false;
  int64_t rejected_ = 0;  // one after the other
};

ShuffleOptions ShuffleOf(const std::variant<int64_t, ShuffleOptions>& shuffle) {
  if (const auto* const options = std::get_if<ShuffleOptions>(&shuffle)) return *options;
  return {.buffer_size = std::get<int64_t>(shuffle)};
}

// The window's records; nullopt for all of a pass.
std::optional<int64_t> WindowOf(const ShuffleOptions& options) {
  const auto* const size = std::get_if<int64_t>(&options.buffer_size);
  return size == nullptr ? std::nullopt : std::optional(*size);
}

std::unique_ptr<Stage> Behind(std::unique_ptr<Stage> before, const StageOptions& o, size_t index,
                              const StageContext& context) {
  if (o.repeat) return std::make_unique<Repeat>(std::move(before), *o.repeat);
  if (o.shuffle) {
    const ShuffleOptions shuffle = ShuffleOf(*o.shuffle);
    const RandomKey key{shuffle.seed.value_or(context.seed), kStageName + index};
    return std::make_unique<Shuffle>(std::move(before), WindowOf(shuffle).value_or(INT64_MAX), key,
                                     shuffle.reshuffle_each_iteration);
  }
  if (o.take && *o.take >= 0) return std::make_unique<Part>(std::move(before), 0, 1, *o.take);
  if (o.skip) return std::make_unique<Part>(std::move(before), *o.skip, 1, std::nullopt);
  if (o.shard) {
    return std::make_unique<Part>(std::move(before), o.shard->index, o.shard->num_shards,
                                  std::nullopt);
  }
  if (!o.filter.empty() || !o.take_while.empty()) {
    return std::make_unique<Filter>(std::move(before), context.truths[index],
                                    !o.take_while.empty());
  }
  return before;
}

StageOptions StageOf(const OrderStageOptions& o) {
  return {
      .repeat = o.repeat, .shuffle = o.shuffle, .take = o.take, .skip = o.skip, .shard = o.shard};
}

// What is before the stage, and the datasets that it names. `index` numbers their shuffles' random
// numbers, which those of the stages themselves never meet.
StageList WithDatasets(std::unique_ptr<Stage> before, const StageOptions& o, size_t index,
                       const StageContext& context) {
  constexpr size_t kStages = 1000;  // more than anybody writes
  StageList datasets;
  datasets.push_back(std::move(before));
  const std::vector<DatasetOptions> others = DatasetsOf(o);
  for (size_t i = 0; i < others.size(); ++i) {
    const Stretch records = context.datasets[index][i];
    std::unique_ptr<Stage> last = RecordsStage(records.first, records.size);
    for (size_t at = 0; at < others[i].stages.size(); ++at) {
      const size_t number = ((index + 1) * kStages + i + 1) * kStages + at;
      last = Behind(std::move(last), StageOf(others[i].stages[at]), number, context);
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

std::unique_ptr<Stage> Built(const std::vector<StageOptions>& stages, const StageContext& context) {
  std::unique_ptr<Stage> last = RecordsStage(0, context.records);
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageOptions& o = stages[i];
    if (o.interleave) {
      last = InterleaveStage(context.file_starts, o.interleave->cycle_length,
                             o.interleave->block_length);
    } else if (!o.concatenate.empty()) {
      last = ConcatenateStage(WithDatasets(std::move(last), o, i, context));
    } else if (o.sample_from_datasets) {
      last = Sampled(WithDatasets(std::move(last), o, i, context), *o.sample_from_datasets, i,
                     context);
    } else {
      last = Behind(std::move(last), o, i, context);
    }
  }
  return last;
}

class StageSampler final : public Sampler {
 public:
  StageSampler(std::vector<StageOptions> stages, StageContext context)
      : stages_(std::move(stages)), context_(std::move(context)), last_(Built(stages_, context_)) {}

  void Seek(const StreamPosition& position) override {
    last_ = Built(stages_, context_);
    if (position.epoch > 0) {
      throw Error(Code::kData, "the position to go on from was stored without stages",
                  "go on with the input_fn that the run began with");
    }
    for (drawn_ = 0; drawn_ < position.records; ++drawn_) {
      if (last_->Next()) continue;
      throw Error(Code::kData,
                  fmt::format("the position to go on from is example {} of stages that give {}",
                              position.records, drawn_),
                  "the data or the stages are not those that the position was stored with");
    }
  }

  void Draw(int64_t rows, Drawn& drawn) override {
    drawn.Clear();
    while (drawn.rows < rows) {
      const std::optional<Handle> handle = last_->Next();
      if (!handle) break;
      if (drawn.stretches.empty() || drawn.stretches.back().epoch != handle->pass) {
        drawn.stretches.push_back({handle->pass, 0});
      }
      ++drawn.stretches.back().rows;
      drawn.records.push_back(handle->record);
      ++drawn.rows;
    }
    drawn_ += drawn.rows;
    drawn.after = {0, drawn_};
  }

 private:
  std::vector<StageOptions> stages_;
  StageContext context_;
  std::unique_ptr<Stage> last_;
  int64_t drawn_ = 0;
};

// The names of the keys that a stage has.
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
  add(o.batch.has_value(), "batch");
  return keys;
}

[[noreturn]] void Refuse(const std::string& key, std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint)).Key(key);
}

void CheckStage(const StageOptions& o, const std::string& key) {
  const std::vector<std::string> keys = KeysOf(o);
  if (keys.empty()) Refuse(key, "a stage without a key", "- repeat: 2, - shuffle: 64, ...");
  if (keys.size() > 1) {
    Refuse(key, fmt::format("a stage is one step, and this one is {}", Join(keys, " and ")),
           fmt::format("- {}: ...\n- {}: ...", keys[0], keys[1]));
  }
  const auto at_least = [&](const std::optional<int64_t>& value, int64_t least, const char* name) {
    if (!value || *value >= least) return;
    Refuse(fmt::format("{}.{}", key, name),
           fmt::format("{} is {}; expected {} or more", name, *value, least));
  };
  at_least(o.repeat, -1, "repeat");
  at_least(o.take, -1, "take");
  at_least(o.skip, 0, "skip");
  at_least(o.batch, 1, "batch");
  if (o.shuffle) at_least(WindowOf(ShuffleOf(*o.shuffle)), 1, "shuffle");
  if (o.shard &&
      (o.shard->num_shards < 1 || o.shard->index < 0 || o.shard->index >= o.shard->num_shards)) {
    Refuse(key + ".shard",
           fmt::format("there is no part {} of {}", o.shard->index, o.shard->num_shards),
           "index counts from 0 to num_shards - 1");
  }
}

void CheckWeights(const SampleFromOptions& o, const std::string& key) {
  const size_t datasets = o.datasets.size() + 1;
  if (!o.weights.empty() && o.weights.size() != datasets) {
    Refuse(key + ".weights",
           fmt::format("{} weights for {} datasets, of which the first is what is before the stage",
                       o.weights.size(), datasets),
           "a weight for each, or none");
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
      CheckStage(StageOf(datasets[i].stages[at]), fmt::format("{}[{}].stages[{}]", list, i, at));
    }
  }
}

void CheckInterleave(const InterleaveOptions& o, size_t index, const std::string& key) {
  if (index > 0) {
    Refuse(key, "interleave is the first stage: it takes the source's files in turns",
           "put the others behind it");
  }
  const auto at_least_one = [&](int64_t value, const char* name) {
    if (value >= 1) return;
    Refuse(fmt::format("{}.interleave.{}", key, name),
           fmt::format("{} is {}; expected 1 or more", name, value));
  };
  at_least_one(o.cycle_length, "cycle_length");
  at_least_one(o.block_length, "block_length");
}

bool IsEndless(const StageOptions& stage, bool before);

// Whether a dataset that the stage names has no end.
bool HasEndlessDataset(const StageOptions& o, bool all) {
  const std::vector<DatasetOptions> datasets = DatasetsOf(o);
  const auto is_endless = [](const DatasetOptions& dataset) {
    bool endless = false;
    for (const OrderStageOptions& stage : dataset.stages) {
      endless = IsEndless(StageOf(stage), endless);
    }
    return endless;
  };
  return all ? std::all_of(datasets.begin(), datasets.end(), is_endless)
             : std::any_of(datasets.begin(), datasets.end(), is_endless);
}

// Whether what comes out of the stage has no end.
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

void CheckStageList(const std::vector<StageOptions>& stages, const std::string& key) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string stage_key = fmt::format("{}[{}]", key, i);
    CheckStage(stages[i], stage_key);
    CheckDatasets(stages[i], stage_key);
    if (stages[i].interleave) CheckInterleave(*stages[i].interleave, i, stage_key);
    if (stages[i].batch && i + 1 < stages.size()) {
      Refuse(stage_key, "batch is the last stage: a stage behind it would be of batches",
             "put the others before it");
    }
  }
}

std::optional<int64_t> CountOf(const std::vector<StageOptions>& stages,
                               const StageContext& context) {
  bool is_endless = false;
  for (const StageOptions& stage : stages) is_endless = IsEndless(stage, is_endless);
  if (is_endless) return std::nullopt;
  const std::unique_ptr<Stage> last = Built(stages, context);
  int64_t count = 0;
  while (last->Next()) ++count;
  return count;
}

std::unique_ptr<Sampler> MakeSampler(const std::vector<StageOptions>& stages,
                                     const StageContext& context) {
  return std::make_unique<StageSampler>(stages, context);
}

}  // namespace tpuest
