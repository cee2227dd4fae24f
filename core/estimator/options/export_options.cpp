#include "core/estimator/options/export_options.h"

#include <algorithm>

#include "core/base/faults.h"

namespace tpuest {
namespace {

constexpr std::pair<std::string_view, Mode> kModes[] = {
    {"PREDICT", Mode::kPredict}, {"EVAL", Mode::kEval}, {"TRAIN", Mode::kTrain}};

std::vector<std::string> ModeWords(const ExportOptions& options) {
  if (const auto* const one = std::get_if<std::string>(&options.experimental_mode)) return {*one};
  return std::get<std::vector<std::string>>(options.experimental_mode);
}

class ExportValidator {
 public:
  explicit ExportValidator(const ExportOptions& options) : options_(options) {}

  std::vector<Fault> Run() {
    CheckModes();
    faults_.Expect(options_.verify >= 0, "verify",
                   fmt::format("verify is {}, expected 0 or more records", options_.verify));
    if (options_.serving_input_receiver_fn) {
      const auto size = std::visit([](const auto& r) { return r.default_batch_size; },
                                   *options_.serving_input_receiver_fn);
      faults_.Expect(size.value_or(1) >= 1, "serving_input_receiver_fn.default_batch_size",
                     fmt::format("default_batch_size must be positive, got {}", size.value_or(1)),
                     "null allows any size");
    }
    if (options_.batch_config) CheckBatching(*options_.batch_config);
    return faults_.Take();
  }

 private:
  void CheckModes() {
    const std::vector<std::string> words = ModeWords(options_);
    const auto known = [](const std::string& word) {
      return std::any_of(std::begin(kModes), std::end(kModes),
                         [&](const auto& mode) { return mode.first == word; });
    };
    for (const std::string& word : words) {
      faults_.Expect(known(word), "experimental_mode", fmt::format("'{}' is not a mode", word),
                     "use PREDICT, EVAL or TRAIN, or a list of them");
    }
    faults_.Expect(!words.empty(), "experimental_mode",
                   "No valid modes for exporting found. Got [].", "PREDICT");
  }

  // Checks the batching as TensorFlow's BatchFunction does.
  void CheckBatching(const BatchConfig& batch) {
    const auto expect = [&](bool holds, const char* key, const std::string& message) {
      faults_.Expect(holds, std::string("batch_config.") + key, message);
    };
    expect(batch.num_batch_threads > 0, "num_batch_threads",
           fmt::format("num_batch_threads must be positive, got {}", batch.num_batch_threads));
    expect(batch.max_batch_size >= 0, "max_batch_size",
           fmt::format("max_batch_size must be 0 or more, got {}", batch.max_batch_size));
    expect(
        batch.batch_timeout_micros >= 0, "batch_timeout_micros",
        fmt::format("batch_timeout_micros must be 0 or more, got {}", batch.batch_timeout_micros));
    expect(
        batch.max_enqueued_batches > 0, "max_enqueued_batches",
        fmt::format("max_enqueued_batches must be positive, got {}", batch.max_enqueued_batches));
    const std::vector<int64_t>& sizes = batch.allowed_batch_sizes;
    if (sizes.empty()) return;
    const bool rising =
        std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) == sizes.end();
    expect(rising && sizes.front() > 0, "allowed_batch_sizes",
           "allowed_batch_sizes entries must be monotonically increasing");
    expect(sizes.back() == batch.max_batch_size, "allowed_batch_sizes",
           fmt::format("final entry in allowed_batch_sizes must equal max_batch_size, {}; got {}",
                       batch.max_batch_size, sizes.back()));
  }

  const ExportOptions& options_;
  Faults faults_{"export"};
};

}  // namespace

std::vector<Mode> ExportOptions::Modes() const {
  std::vector<Mode> modes;
  const std::vector<std::string> words = ModeWords(*this);
  for (const auto& [name, mode] : kModes) {
    if (std::find(words.begin(), words.end(), name) != words.end()) modes.push_back(mode);
  }
  return modes;
}

std::vector<Fault> Validate(const ExportOptions& options) { return ExportValidator(options).Run(); }

}  // namespace tpuest
