#include "data/csv_stages.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "core/base/error.h"
#include "data/at_least.h"

namespace tpuest::data {
namespace {

// TensorFlow's default buffer size.
constexpr int64_t kShuffleBufferSize = 10000;

[[noreturn]] void Refuse(const std::string& key, std::string message, std::string hint) {
  throw Error(Code::kUsage, std::move(message), std::move(hint)).Key(key);
}

std::optional<ShuffleOptions> TakeShuffle(CsvSource& csv, const std::string& key) {
  ExpectAtLeast(csv.shuffle_buffer_size, 1, key, "shuffle_buffer_size");
  const bool is_meant = csv.shuffle_buffer_size || csv.shuffle_seed;
  const bool shuffles = csv.shuffle.value_or(is_meant);
  std::optional<ShuffleOptions> taken;
  if (shuffles) {
    taken = ShuffleOptions{.buffer_size = csv.shuffle_buffer_size.value_or(kShuffleBufferSize),
                           .seed = csv.shuffle_seed};
  }
  csv.shuffle.reset();
  csv.shuffle_buffer_size.reset();
  csv.shuffle_seed.reset();
  return taken;
}

std::optional<int64_t> TakeRepeat(CsvSource& csv, const std::string& key) {
  ExpectAtLeast(csv.num_epochs, -1, key, "num_epochs");
  return std::exchange(csv.num_epochs, std::nullopt);
}

// Inserts a stage before the job's own stages.
template <class Stage>
void TakeAsStages(CsvSource& csv, const std::string& key, std::vector<Stage>& stages) {
  if (csv.batch_size) {
    Refuse(key + ".batch_size", "batch_size and stages exclude each other",
           fmt::format("stages: [..., batch: {}]", *csv.batch_size));
  }
  auto shuffle = TakeShuffle(csv, key);
  auto repeat = TakeRepeat(csv, key);
  if (repeat) {
    Stage& stage = *stages.insert(stages.begin(), Stage{});
    stage.repeat = repeat;
  }
  if (shuffle) {
    Stage& stage = *stages.insert(stages.begin(), Stage{});
    stage.shuffle = std::move(*shuffle);
  }
}

void TakeOfDatasets(std::vector<DatasetOptions>& datasets, const std::string& key) {
  for (size_t i = 0; i < datasets.size(); ++i) {
    auto* const csv = std::get_if<CsvSource>(&datasets[i].source);
    if (csv != nullptr)
      TakeAsStages(*csv, fmt::format("{}[{}].source", key, i), datasets[i].stages);
  }
}

// Zipped rows have one order, which the input_fn determines.
void RefuseOfZipped(const ZipSource& zip, const std::string& key) {
  for (size_t i = 0; i < zip.datasets.size(); ++i) {
    const auto* const csv = std::get_if<CsvSource>(&zip.datasets[i]);
    if (csv == nullptr) continue;
    const auto refuse = [&](bool is_set, const char* name) {
      if (!is_set) return;
      Refuse(fmt::format("{}.datasets[{}].{}", key, i, name),
             fmt::format("{} would misalign zipped rows", name),
             "set shuffle and repeat next to the source, and use train_batch_size");
    };
    refuse(csv->batch_size.has_value(), "batch_size");
    refuse(csv->num_epochs.has_value(), "num_epochs");
    refuse(csv->shuffle.value_or(false), "shuffle");
    refuse(csv->shuffle_buffer_size.has_value(), "shuffle_buffer_size");
    refuse(csv->shuffle_seed.has_value(), "shuffle_seed");
  }
}

}  // namespace

void TakeCsvStages(InputFnOptions& options, const std::string& key) {
  for (size_t i = 0; i < options.stages.size(); ++i) {
    StageOptions& stage = options.stages[i];
    const std::string at = fmt::format("{}.stages[{}]", key, i);
    TakeOfDatasets(stage.concatenate, at + ".concatenate");
    if (auto& sample = stage.sample_from_datasets) {
      TakeOfDatasets(sample->datasets, at + ".sample_from_datasets.datasets");
    }
  }
  if (const auto* const zip = std::get_if<ZipSource>(&options.source)) {
    RefuseOfZipped(*zip, key + ".source");
  }
  auto* const csv = std::get_if<CsvSource>(&options.source);
  if (csv == nullptr) return;
  const std::string source = key + ".source";
  if (!options.stages.empty()) {
    TakeAsStages(*csv, source, options.stages);
    return;
  }
  ExpectAtLeast(csv->batch_size, 1, source, "batch_size");
  if (auto shuffle = TakeShuffle(*csv, source)) {
    if (options.shuffle) {
      Refuse(key + ".shuffle", "both the source and the input_fn shuffle",
             "keep one of source.shuffle and shuffle");
    }
    options.shuffle = std::move(*shuffle);
  }
  if (const auto repeat = TakeRepeat(*csv, source)) {
    if (options.repeat) {
      Refuse(key + ".repeat", "both the source's num_epochs and the input_fn repeat",
             "keep one of source.num_epochs and repeat");
    }
    options.repeat = repeat;
  }
}

std::optional<int64_t> BatchOf(const InputFnOptions& options) {
  if (!options.stages.empty()) {
    const StageOptions& last = options.stages.back();
    return last.padded_batch ? last.padded_batch->batch_size : last.batch;
  }
  const auto* const csv = std::get_if<CsvSource>(&options.source);
  return csv == nullptr ? std::nullopt : csv->batch_size;
}

}  // namespace tpuest::data
