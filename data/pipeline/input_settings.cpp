#include "data/pipeline/input_settings.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/base/error.h"
#include "data/csv_stages.h"
#include "data/pipeline/stages.h"

namespace tpuest::data {
namespace {

// An option as a number of at least `least`; nullopt if it equals `word`.
std::optional<int64_t> WordOrNumber(const std::variant<std::string, int64_t>& option,
                                    std::string_view word, int64_t least, const std::string& key) {
  if (const auto* text = std::get_if<std::string>(&option)) {
    if (*text == word) return std::nullopt;
    throw Error(Code::kUsage, fmt::format("expected {} or a number, found '{}'", word, *text))
        .Key(key);
  }
  const int64_t number = std::get<int64_t>(option);
  if (number < least) {
    throw Error(Code::kUsage, fmt::format("expected {} or more, found {}", least, number)).Key(key);
  }
  return number;
}

}  // namespace

InputSettings::InputSettings(InputFnOptions options, InputFnOptions original,
                             const std::string& name, bool is_wrapped)
    : options_(std::move(options)), original_(std::move(original)), key_("input_fns." + name) {
  CheckStages(is_wrapped);
  SetCacheFile();
}

void InputSettings::CheckStages(bool is_wrapped) const {
  if (options_.repeat.value_or(-1) < -1) {
    throw Error(Code::kUsage,
                fmt::format("repeat is {}; expected 0 or more, or -1 for ever", *options_.repeat))
        .Key(key_ + ".repeat");
  }
  const auto* const cache = std::get_if<std::string>(&options_.cache);
  if (cache != nullptr && cache->empty()) {
    throw Error(Code::kUsage, "expected false, memory or a file").Key(key_ + ".cache");
  }
  if (!options_.stages.empty()) CheckOwnStages(is_wrapped);
  // These throw for invalid options before a file is opened.
  (void)Workers(1);
  (void)Prefetch(1);
  if (options_.shuffle) (void)Window();
}

void InputSettings::CheckOwnStages(bool is_wrapped) const {
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
  if (!is_wrapped || WindowSizeOf(original_.stages) == 1) return;
  throw Error(Code::kUsage, "a record alone does not make a window",
              "export a model on windows with tensors as input: "
              "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
      .Key(key_ + ".stages");
}

void InputSettings::SetCacheFile() {
  const auto* cache = std::get_if<std::string>(&options_.cache);
  auto* folder = std::get_if<ImageFolderSource>(&options_.source);
  if (cache != nullptr && folder != nullptr && *cache != "memory") folder->cache_file = *cache;
}

bool InputSettings::IsCached() const {
  if (std::any_of(original_.stages.begin(), original_.stages.end(),
                  [](const StageOptions& stage) { return stage.cache == "memory"; })) {
    return true;
  }
  // The file stores the records while they are streamed.
  if (KeptFile()) return false;
  const bool* const flag = std::get_if<bool>(&options_.cache);
  return flag == nullptr || *flag;
}
std::optional<std::string> InputSettings::KeptFile() const {
  for (const StageOptions& stage : original_.stages) {
    if (stage.cache && *stage.cache != "memory") return stage.cache;
  }
  const auto* const cache = std::get_if<std::string>(&original_.cache);
  const bool is_own = std::holds_alternative<ImageFolderSource>(original_.source);
  if (cache == nullptr || *cache == "memory" || is_own) return std::nullopt;
  return *cache;
}

std::optional<int64_t> InputSettings::Window() const {
  return WordOrNumber(options_.shuffle->buffer_size, "full", 1, key_ + ".shuffle.buffer_size");
}
int InputSettings::Workers(int machine) const {
  const std::string key = key_ + ".num_parallel_calls";
  const int64_t asked =
      WordOrNumber(options_.num_parallel_calls, "auto", 1, key).value_or(std::max(machine, 1));
  // The limit bounds the cost of a typing error.
  return static_cast<int>(std::min<int64_t>(asked, 1024));
}
int64_t InputSettings::Prefetch(int workers) const {
  const auto asked = WordOrNumber(options_.prefetch, "auto", 0, key_ + ".prefetch");
  // Two per worker: one waits while the next is built. 0 builds no batch ahead, but the ring needs
  // room for the requested one.
  return std::max<int64_t>(asked.value_or(2 * workers), 1);
}

SampleOptions InputSettings::Sampling(const InputContext& context) const {
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

void InputSettings::CheckBucket(const InputContext& context) const {
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
std::string InputSettings::LastStage() const {
  return fmt::format("{}.stages[{}]", key_, original_.stages.size() - 1);
}

// If the input makes batches itself, training takes them unchanged.
void InputSettings::CheckBatch(const InputContext& context) const {
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

}  // namespace tpuest::data
