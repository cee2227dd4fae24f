#include "data/pipeline/input_fn.h"

#include <mutex>

#include "data/pipeline/filter.h"
#include "data/pipeline/fold.h"
#include "data/pipeline/input_settings.h"
#include "data/pipeline/pipeline.h"
#include "data/pipeline/record_plans.h"
#include "data/pipeline/stage_sources.h"
#include "data/pipeline/stages.h"
#include "data/sources/kept_rows.h"
#include "data/sources/live_source.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// The longest time that a row's prediction waits for further rows.
constexpr int kLiveWaitMs = 50;

[[noreturn]] void RefusePermutation(const InputSettings& settings) {
  throw Error(
      Code::kUsage,
      "buffer_size: full needs records that can be read in any order; compressed files "
      "and programs are read front to back",
      "cache: memory keeps the decompressed records; or set buffer_size to a number of records")
      .Key(settings.key() + ".shuffle.buffer_size");
}

// The state that all streams of an input_fn share and keep alive. Indexed sources are opened once
// and never change; a streamed source is opened for each stream, because only one thread may read
// it.
class Input {
 public:
  // The filter comes from `original`.
  Input(InputFnOptions options, const std::string& name, WrapSource wrap, InputFnOptions original)
      : settings_(std::move(options), std::move(original), name, wrap != nullptr),
        wrap_(std::move(wrap)),
        plans_(settings_) {
    const auto columns = wrap_ ? std::optional(std::vector{SerializedColumn()})
                               : KnownColumns(settings_.options().source, settings_.SourceKey());
    if (columns) known_spec_ = plans_.PlanOf(*columns).spec();
    if (columns && !wrap_) {
      plans_.CheckFilters(*columns);
    } else {
      plans_.CheckFormulas();
    }
  }

  [[nodiscard]] static std::unique_ptr<BatchStream> Open(const std::shared_ptr<Input>& self,
                                                         const InputContext& context) {
    return self->OpenStream(self, context);
  }
  [[nodiscard]] const std::optional<StreamSpec>& known_spec() const { return known_spec_; }
  // Returns rows as they arrive.
  void ReadLive() { is_live_ = true; }

 private:
  [[nodiscard]] const std::vector<StageOptions>& stages() const {
    return settings_.original().stages;
  }

  [[nodiscard]] AnySource Source(int workers) {
    const std::lock_guard lock(mutex_);
    if (opened_) return opened_;
    const InputFnOptions& options = settings_.options();
    const std::string key = settings_.SourceKey();
    if (is_live_) return OpenLive(options.source, key);
    AnySource source = OpenSource(options.source, settings_.IsCached(), key, options.data_errors);
    if (const std::optional<std::string> file = settings_.KeptFile()) {
      source = KeepInFile(std::move(source), *file, FingerprintOf(options.source));
    }
    // After skip and take, and before any wrapping, because folds count the job's records.
    if (options.fold) source = TakeFold(std::move(source), *options.fold, key);
    const std::vector<TensorSpec> columns =
        std::visit([](const auto& opened) { return opened->columns(); }, source);
    if (!settings_.original().filter.empty()) {
      source = KeepRecords(std::move(source), plans_.FilterOf(columns, workers));
    }
    if (!stages().empty()) source = WithDatasets(std::move(source), columns, workers);
    if (wrap_) source = wrap_(std::move(source));
    if (const auto* indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
      opened_ = *indexed;
    }
    return source;
  }

  // Opens the datasets that stages name, after the source, and evaluates the stages' formulas.
  AnySource WithDatasets(AnySource source, const std::vector<TensorSpec>& columns, int workers) {
    auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
    if (indexed == nullptr) {
      throw Error(Code::kUsage,
                  "stages need records that can be read in any order; compressed files and "
                  "programs are read front to back",
                  "cache: memory keeps the decompressed records")
          .Key(settings_.key() + ".stages");
    }
    joined_ = OpenStageSources(std::move(*indexed), stages(), settings_.IsCached(), settings_.key(),
                               settings_.options().data_errors);
    answers_ = plans_.AnswersOf(*joined_.source, columns, workers);
    return joined_.source;
  }

  [[nodiscard]] std::unique_ptr<Sampler> Stages(const IndexedSource& source,
                                                const InputContext& context,
                                                PipelineOptions& options) const {
    const StageContext of_stages{joined_.own.size, context.seed,        answers_.truths,
                                 joined_.datasets, joined_.file_starts, answers_.lengths};
    // A bucket has its own option for short batches at the end.
    if (stages().back().bucket_by_sequence_length) options.drop_remainder = false;
    options.epoch_size = CountOf(stages(), of_stages);
    options.endless = !options.epoch_size;
    if (options.epoch_size == 0) {
      throw Error(Code::kData, fmt::format("the stages drop all {} records", source.size()))
          .Key(settings_.key() + ".stages");
    }
    return MakeSampler(stages(), of_stages);
  }

  [[nodiscard]] std::unique_ptr<BatchStream> OpenStream(std::shared_ptr<const void> keep,
                                                        const InputContext& context) {
    Check(context.batch_size > 0);
    settings_.CheckBatch(context);
    const SampleOptions sampling = settings_.Sampling(context);
    PipelineOptions options;
    options.batch_size = context.batch_size;
    options.drop_remainder =
        settings_.options().drop_remainder.value_or(context.mode == Mode::kTrain);
    options.pad_last = context.pad_last;
    options.workers = settings_.Workers(context.threads);
    options.prefetch = settings_.Prefetch(options.workers);
    options.endless = sampling.repeat < 0;

    BuildContext build;
    build.seed = context.seed;
    build.seeds_by_name = context.seeds_by_name;
    build.parser = plans_.parser();
    std::unique_ptr<Sampler> sampler;
    AnySource source = Source(options.workers);
    if (const auto* indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source)) {
      build.source = indexed->get();
      build.files = &(*indexed)->files();
      build.plan = plans_.PlanOf((*indexed)->columns());
      options.epoch_size = (*indexed)->size();
      sampler = stages().empty() ? MakeSampler((*indexed)->size(), sampling)
                                 : Stages(**indexed, context, options);
    } else {
      auto& streamed = std::get<std::unique_ptr<StreamedSource>>(source);
      if (sampling.order == SampleOptions::Order::kPermutation) RefusePermutation(settings_);
      build.files = &streamed->files();
      build.decoder = streamed->decoder();
      build.plan = plans_.PlanOf(streamed->columns());
      sampler = is_live_ ? MakeLiveSampler(std::move(streamed), kLiveWaitMs)
                         : MakeSampler(std::move(streamed), sampling);
    }
    return std::make_unique<Pipeline>(options, std::move(build), std::move(sampler),
                                      std::move(keep));
  }

  const InputSettings settings_;
  const WrapSource wrap_;  // may be empty
  const RecordPlans plans_;
  StageSources joined_;   // of the stages, after the source is opened
  StageAnswers answers_;  // as above
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
  return Input(options, name, nullptr, options).known_spec();
}

std::optional<int64_t> KnownSize(const InputFnOptions& options, const std::string& name) {
  if (!options.filter.empty() || !options.stages.empty()) return std::nullopt;
  const auto records = KnownSize(options.source, fmt::format("input_fns.{}.source", name));
  return records && options.fold ? SizeOfFold(*options.fold, *records) : records;
}

}  // namespace tpuest::data
