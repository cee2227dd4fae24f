#include "data/pipeline/input_fn.h"

#include <algorithm>
#include <mutex>

#include "core/nn/formula/formula.h"
#include "data/csv_stages.h"
#include "data/examples/example_parser.h"
#include "data/pipeline/filter.h"
#include "data/pipeline/fold.h"
#include "data/pipeline/pipeline.h"
#include "data/pipeline/stage_sources.h"
#include "data/pipeline/stages.h"
#include "data/sources/kept_rows.h"
#include "data/sources/live_source.h"
#include "data/sources/open_source.h"

namespace tpuest {
namespace {

// A row's prediction waits for others so long at most.
constexpr int kLiveWaitMs = 50;

// The common part of one input_fn's streams, which keep it alive. Indexed sources are opened once
// and never change; a streamed source is opened for each stream, since only one thread may read it.
class Input {
 public:
  Input(const InputFnOptions& options, const std::string& name)
      : Input(options, name, nullptr, options) {}
  // The filter is that of `original`.
  Input(InputFnOptions options, const std::string& name, WrapSource wrap, InputFnOptions original)
      : options_(std::move(options)),
        key_("input_fns." + name),
        wrap_(std::move(wrap)),
        original_(std::move(original)) {
    CheckStages();
    SetCacheFile();
    EmplaceParser(options_, parser_);
    EmplaceParser(original_, original_parser_);
    const auto columns = wrap_ ? std::optional(std::vector{SerializedColumn()})
                               : KnownColumns(options_.source, SourceKey());
    if (columns) known_spec_ = Plan(*columns).spec();
    if (columns && !wrap_) {
      CheckFilters(*columns);
    } else {
      CheckFormulas();
    }
  }

  [[nodiscard]] static std::unique_ptr<BatchStream> Open(const std::shared_ptr<Input>& self,
                                                         const InputContext& context) {
    return self->OpenStream(self, context);
  }
  [[nodiscard]] const std::optional<StreamSpec>& known_spec() const { return known_spec_; }
  // Rows are given as they come.
  void ReadLive() { is_live_ = true; }

 private:
  [[nodiscard]] std::string SourceKey() const { return key_ + ".source"; }
  [[nodiscard]] std::string ParseKey() const {
    return key_ + (original_.parse_sequence_example ? ".parse_sequence_example" : ".parse_example");
  }
  void EmplaceParser(const InputFnOptions& options, std::optional<ExampleParser>& parser) const {
    if (!options.parse_sequence_example) {
      if (!options.parse_example.empty()) parser.emplace(options.parse_example, ParseKey());
      return;
    }
    if (!options.parse_example.empty()) {
      throw Error(Code::kUsage,
                  "parse_example and parse_sequence_example exclude each other: remove one")
          .Key(ParseKey());
    }
    parser.emplace(*options.parse_sequence_example, ParseKey());
  }

  // An option as a number of at least `least`; nullopt for `word`.
  [[nodiscard]] std::optional<int64_t> WordOrNumber(
      const std::variant<std::string, int64_t>& option, std::string_view word, int64_t least,
      const std::string& key) const {
    if (const auto* text = std::get_if<std::string>(&option)) {
      if (*text == word) return std::nullopt;
      throw Error(Code::kUsage, fmt::format("expected {} or a number, found '{}'", word, *text))
          .Key(key);
    }
    const int64_t number = std::get<int64_t>(option);
    if (number < least) {
      throw Error(Code::kUsage, fmt::format("expected {} or more, found {}", least, number))
          .Key(key);
    }
    return number;
  }

  void CheckStages() const {
    if (options_.repeat.value_or(-1) < -1) {
      throw Error(Code::kUsage,
                  fmt::format("repeat is {}; expected 0 or more, or -1 for ever", *options_.repeat))
          .Key(key_ + ".repeat");
    }
    const auto* const cache = std::get_if<std::string>(&options_.cache);
    if (cache != nullptr && cache->empty()) {
      throw Error(Code::kUsage, "expected false, memory or a file").Key(key_ + ".cache");
    }
    if (!options_.stages.empty()) CheckOwnStages();
    // These throw for what is wrong, before a file is touched.
    (void)Workers(1);
    (void)Prefetch(1);
    if (options_.shuffle) (void)Window();
  }

  void CheckOwnStages() const {
    const auto refuse_beside = [&](bool is_set, const char* name) {
      if (!is_set) return;
      throw Error(
          Code::kUsage,
          fmt::format("{} and stages exclude each other: their order would be undefined", name),
          fmt::format("- {}: ... in stages", name))
          .Key(key_ + "." + name);
    };
    refuse_beside(!options_.map.empty(), "map");
    refuse_beside(!options_.filter.empty(), "filter");
    refuse_beside(options_.shuffle.has_value(), "shuffle");
    refuse_beside(options_.repeat.has_value(), "repeat");
    CheckStageList(options_.stages, key_ + ".stages");
    if (!wrap_ || WindowSizeOf(original_.stages) == 1) return;
    throw Error(Code::kUsage, "a record alone does not make a window",
                "export a model on windows with tensors as input: "
                "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
        .Key(key_ + ".stages");
  }

  void SetCacheFile() {
    const auto* cache = std::get_if<std::string>(&options_.cache);
    auto* folder = std::get_if<ImageFolderSource>(&options_.source);
    if (cache != nullptr && folder != nullptr && *cache != "memory") folder->cache_file = *cache;
  }

  [[nodiscard]] bool Cached() const {
    if (std::any_of(original_.stages.begin(), original_.stages.end(),
                    [](const StageOptions& stage) { return stage.cache == "memory"; })) {
      return true;
    }
    // A file takes the records as they are streamed.
    if (KeptFile()) return false;
    const bool* const flag = std::get_if<bool>(&options_.cache);
    return flag == nullptr || *flag;
  }
  // The window's size in records; nullopt for a full permutation.
  [[nodiscard]] std::optional<int64_t> Window() const {
    return WordOrNumber(options_.shuffle->buffer_size, "full", 1, key_ + ".shuffle.buffer_size");
  }
  [[nodiscard]] int Workers(int machine) const {
    const std::string key = key_ + ".num_parallel_calls";
    const int64_t asked =
        WordOrNumber(options_.num_parallel_calls, "auto", 1, key).value_or(std::max(machine, 1));
    // This bounds what a typing error costs.
    return static_cast<int>(std::min<int64_t>(asked, 1024));
  }
  [[nodiscard]] int64_t Prefetch(int workers) const {
    const auto asked = WordOrNumber(options_.prefetch, "auto", 0, key_ + ".prefetch");
    // Two a worker: one waits while the next one is built. 0 makes no batch ahead, but the ring
    // needs a place for the one that is asked for.
    return std::max<int64_t>(asked.value_or(2 * workers), 1);
  }

  // A TFRecordDataset's column is one string [], and so is what `wrap` makes.
  [[nodiscard]] InputPlan Plan(const std::vector<TensorSpec>& source_columns) const {
    if (!parser_) return PlanColumns(options_, source_columns, key_);
    if (source_columns.size() != 1 || source_columns[0].dtype != DType::kString ||
        source_columns[0].shape.rank() != 0) {
      throw Error(Code::kUsage,
                  "parse_example needs a source of tf.Examples, such as "
                  "TFRecordDataset; this one has columns already")
          .Key(ParseKey());
    }
    return PlanColumns(options_, parser_->columns(), key_);
  }
  [[nodiscard]] FilterContext FilterOf(const std::vector<TensorSpec>& source_columns, int workers,
                                       std::optional<size_t> stage = std::nullopt) const {
    return {.plan = PlanFilter(original_,
                               original_parser_ ? original_parser_->columns() : source_columns,
                               key_, stage),
            .parser = original_parser_ ? &*original_parser_ : nullptr,
            .workers = workers,
            .key = key_ + ".filter"};
  }
  [[nodiscard]] bool HasFormula(size_t stage) const {
    return !original_.stages[stage].filter.empty() || !original_.stages[stage].take_while.empty();
  }
  static void CheckMap(const std::vector<MapOptions>& map) {
    for (const MapOptions& step : map) {
      if (const auto* const expr = std::get_if<ExprMap>(&step)) nn::CheckFormula(expr->value);
    }
  }
  // What can be told without the columns.
  void CheckFormulas() const {
    CheckMap(original_.map);
    for (const StageOptions& stage : original_.stages) CheckMap(stage.map);
    if (!original_.filter.empty()) nn::CheckFormula(original_.filter);
    for (const StageOptions& stage : original_.stages) {
      if (!stage.filter.empty()) nn::CheckFormula(stage.filter);
      if (!stage.take_while.empty()) nn::CheckFormula(stage.take_while);
    }
  }
  void CheckFilters(const std::vector<TensorSpec>& columns) const {
    if (!original_.filter.empty()) (void)FilterOf(columns, 1);
    for (size_t i = 0; i < original_.stages.size(); ++i) {
      if (HasFormula(i)) (void)FilterOf(columns, 1, i);
    }
    if (!original_.stages.empty() && original_.stages.back().bucket_by_sequence_length) {
      (void)LengthOf(columns, 1);
    }
  }

  [[nodiscard]] SampleOptions Sampling(const InputContext& context) const {
    SampleOptions sampling;
    sampling.repeat = options_.repeat.value_or(context.mode == Mode::kTrain ? -1 : 1);
    sampling.seed = context.seed;
    if (!options_.shuffle) return sampling;
    const std::optional<int64_t> window = Window();
    sampling.order = window ? SampleOptions::Order::kWindow : SampleOptions::Order::kPermutation;
    sampling.window = window.value_or(0);
    sampling.seed = options_.shuffle->seed.value_or(context.seed);
    sampling.reshuffle = options_.shuffle->reshuffle_each_iteration;
    return sampling;
  }

  [[nodiscard]] AnySource Source(int workers) {
    const std::lock_guard lock(mutex_);
    if (opened_) return opened_;
    if (is_live_) return OpenLive(options_.source, SourceKey());
    AnySource source = OpenSource(options_.source, Cached(), SourceKey(), options_.data_errors);
    if (const std::optional<std::string> file = KeptFile()) {
      source = KeepInFile(std::move(source), *file, FingerprintOf(options_.source));
    }
    // After skip and take, before whatever wraps the records: folds count records of the
    // job.
    if (options_.fold) source = TakeFold(std::move(source), *options_.fold, SourceKey());
    const std::vector<TensorSpec> columns =
        std::visit([](const auto& opened) { return opened->columns(); }, source);
    if (!original_.filter.empty()) {
      source = KeepRecords(std::move(source), FilterOf(columns, workers));
    }
    source = WithDatasets(std::move(source));
    FindTruths(source, columns, workers);
    if (wrap_) source = wrap_(std::move(source));
    if (const auto* indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
      opened_ = *indexed;
    }
    return source;
  }

  // The source, and behind it those that stages name.
  AnySource WithDatasets(AnySource source) {
    if (original_.stages.empty()) return source;
    auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
    if (indexed == nullptr) {
      throw Error(Code::kUsage,
                  "stages need records that can be read in any order; compressed files and "
                  "programs are read front to back",
                  "cache: memory keeps the decompressed records")
          .Key(key_ + ".stages");
    }
    joined_ = OpenStageSources(std::move(*indexed), original_.stages, Cached(), key_,
                               options_.data_errors);
    return joined_.source;
  }

  // The file of the stage that keeps the source's records in one.
  [[nodiscard]] std::optional<std::string> KeptFile() const {
    for (const StageOptions& stage : original_.stages) {
      if (stage.cache && *stage.cache != "memory") return stage.cache;
    }
    const auto* const cache = std::get_if<std::string>(&original_.cache);
    const bool is_own = std::holds_alternative<ImageFolderSource>(original_.source);
    if (cache == nullptr || *cache == "memory" || is_own) return std::nullopt;
    return *cache;
  }

  // What the stages' formulas say of the records.
  void FindTruths(const AnySource& source, const std::vector<TensorSpec>& columns, int workers) {
    if (original_.stages.empty()) return;
    const auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
    truths_.resize(original_.stages.size());
    for (size_t i = 0; i < original_.stages.size(); ++i) {
      if (!HasFormula(i)) continue;
      truths_[i] =
          std::make_shared<const Truths>(TruthsOf(**indexed, FilterOf(columns, workers, i)));
    }
    if (!original_.stages.back().bucket_by_sequence_length) return;
    lengths_ = std::make_shared<const std::vector<int64_t>>(
        LengthsOf(**indexed, LengthOf(columns, workers)));
  }
  [[nodiscard]] FilterContext LengthOf(const std::vector<TensorSpec>& source_columns,
                                       int workers) const {
    const size_t stage = original_.stages.size() - 1;
    return {.plan = PlanLengths(original_,
                                original_parser_ ? original_parser_->columns() : source_columns,
                                key_, stage),
            .parser = original_parser_ ? &*original_parser_ : nullptr,
            .workers = workers,
            .key = fmt::format("{}.stages[{}]", key_, stage)};
  }

  void CheckBucket(const InputContext& context) const {
    if (original_.stages.empty() || !context.pad_last) return;
    const auto& bucket = original_.stages.back().bucket_by_sequence_length;
    if (!bucket) return;
    const auto& sizes = bucket->bucket_batch_sizes;
    const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
    if (largest <= context.batch_size) return;
    throw Error(Code::kUsage,
                fmt::format("a bucket's batch size is {}, larger than the padded batch size of {}",
                            largest, context.batch_size),
                "use at most eval_batch_size or predict_batch_size per bucket")
        .Key(LastStage() + ".bucket_by_sequence_length.bucket_batch_sizes");
  }
  [[nodiscard]] std::string LastStage() const {
    return fmt::format("{}.stages[{}]", key_, original_.stages.size() - 1);
  }

  // Where the input makes batches itself, training takes them as they are.
  void CheckBatch(const InputContext& context) const {
    CheckBucket(context);
    const std::optional<int64_t> batch = BatchOf(original_);
    const int64_t asked = context.batch_size / context.batches;
    if (!batch || context.mode != Mode::kTrain || *batch == asked) return;
    std::string key = key_ + ".source.batch_size";
    if (!original_.stages.empty()) {
      key = LastStage() +
            (original_.stages.back().padded_batch ? ".padded_batch.batch_size" : ".batch");
    }
    throw Error(Code::kUsage, fmt::format("batch is {}, but train_batch_size is {}", *batch, asked),
                "remove it here, or set it to train_batch_size")
        .Key(key);
  }

  [[nodiscard]] std::unique_ptr<Sampler> Stages(const IndexedSource& source,
                                                const InputContext& context,
                                                PipelineOptions& options) const {
    const StageContext stages{joined_.own.size, context.seed,        truths_,
                              joined_.datasets, joined_.file_starts, lengths_};
    // A bucket's short batches at the end are its own option's.
    if (original_.stages.back().bucket_by_sequence_length) options.drop_remainder = false;
    options.epoch_size = CountOf(original_.stages, stages);
    options.endless = !options.epoch_size;
    if (options.epoch_size == 0) {
      throw Error(Code::kData, fmt::format("the stages drop all {} records", source.size()))
          .Key(key_ + ".stages");
    }
    return MakeSampler(original_.stages, stages);
  }

  [[nodiscard]] std::unique_ptr<BatchStream> OpenStream(std::shared_ptr<const void> keep,
                                                        const InputContext& context) {
    Check(context.batch_size > 0);
    CheckBatch(context);
    const SampleOptions sampling = Sampling(context);
    PipelineOptions options;
    options.batch_size = context.batch_size;
    options.drop_remainder = options_.drop_remainder.value_or(context.mode == Mode::kTrain);
    options.pad_last = context.pad_last;
    options.workers = Workers(context.threads);
    options.prefetch = Prefetch(options.workers);
    options.endless = sampling.repeat < 0;

    BuildContext build;
    build.seed = context.seed;
    build.seeds_by_name = context.seeds_by_name;
    build.parser = parser_ ? &*parser_ : nullptr;
    std::unique_ptr<Sampler> sampler;
    AnySource source = Source(options.workers);
    if (const auto* indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
      build.source = indexed->get();
      build.files = &(*indexed)->files();
      build.plan = Plan((*indexed)->columns());
      options.epoch_size = (*indexed)->size();
      sampler = original_.stages.empty() ? MakeSampler((*indexed)->size(), sampling)
                                         : Stages(**indexed, context, options);
    } else {
      auto& streamed = std::get<std::unique_ptr<StreamedSource>>(source);
      if (sampling.order == SampleOptions::Order::kPermutation) RefusePermutation();
      build.files = &streamed->files();
      build.decoder = streamed->decoder();
      build.plan = Plan(streamed->columns());
      sampler = is_live_ ? MakeLiveSampler(std::move(streamed), kLiveWaitMs)
                         : MakeSampler(std::move(streamed), sampling);
    }
    return std::make_unique<Pipeline>(options, std::move(build), std::move(sampler),
                                      std::move(keep));
  }

  [[noreturn]] void RefusePermutation() const {
    throw Error(
        Code::kUsage,
        "buffer_size: full needs records that can be read in any order; compressed files "
        "and programs are read front to back",
        "cache: memory keeps the decompressed records; or set buffer_size to a number of records")
        .Key(key_ + ".shuffle.buffer_size");
  }

  InputFnOptions options_;
  std::string key_;
  WrapSource wrap_;  // may be empty
  InputFnOptions original_;
  std::optional<ExampleParser> parser_;
  std::optional<ExampleParser> original_parser_;
  StageSources joined_;                                  // of the stages, once the source is open
  std::vector<std::shared_ptr<const Truths>> truths_;    // of the stages, once the source is open
  std::shared_ptr<const std::vector<int64_t>> lengths_;  // of a bucket_by_sequence_length, likewise
  std::optional<StreamSpec> known_spec_;
  bool is_live_ = false;
  std::mutex mutex_;
  std::shared_ptr<IndexedSource> opened_;
};

}  // namespace

InputFn MakeInputFn(InputFnOptions options, const std::string& name) {
  InputFnOptions original = options;
  return MakeWrappedInputFn(std::move(options), name, nullptr, std::move(original));
}

InputFn MakeLiveInputFn(InputFnOptions options, const std::string& name) {
  InputFnOptions original = options;
  auto input = std::make_shared<Input>(std::move(options), name, nullptr, std::move(original));
  input->ReadLive();
  return [input](const InputContext& context) { return Input::Open(input, context); };
}

InputFn MakeWrappedInputFn(InputFnOptions options, const std::string& name, WrapSource wrap,
                           InputFnOptions original) {
  auto input =
      std::make_shared<Input>(std::move(options), name, std::move(wrap), std::move(original));
  return [input](const InputContext& context) { return Input::Open(input, context); };
}

std::optional<StreamSpec> KnownSpec(const InputFnOptions& options, const std::string& name) {
  return Input(options, name).known_spec();
}

std::optional<int64_t> KnownSize(const InputFnOptions& options, const std::string& name) {
  if (!options.filter.empty() || !options.stages.empty()) return std::nullopt;
  const auto records = KnownSize(options.source, fmt::format("input_fns.{}.source", name));
  return records && options.fold ? SizeOfFold(*options.fold, *records) : records;
}

}  // namespace tpuest
