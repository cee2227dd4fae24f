#pragma once
// The options of an input_fn as numbers.

#include <cstdint>
#include <optional>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"
#include "data/pipeline/sampler.h"

namespace tpuest::data {

// Owns the options of one input_fn, and refuses invalid ones before it opens a file.
class InputSettings {
 public:
  // `original`: the options of the records, which differ from `options` if the stream is one of
  // wrapped records (MakeWrappedInputFn). Throws Error kUsage.
  InputSettings(InputFnOptions options, InputFnOptions original, const std::string& name,
                bool is_wrapped);

  [[nodiscard]] const InputFnOptions& options() const { return options_; }
  [[nodiscard]] const InputFnOptions& original() const { return original_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] std::string SourceKey() const { return key_ + ".source"; }

  // Threads of a stream; `machine` is the number for "auto".
  [[nodiscard]] int Workers(int machine) const;
  // The number of batches that are being built or waiting; at least 1.
  [[nodiscard]] int64_t Prefetch(int workers) const;
  [[nodiscard]] SampleOptions Sampling(const InputContext& context) const;
  // Whether the records are kept in memory.
  [[nodiscard]] bool IsCached() const;
  // The file that keeps the source's records, from a stage or from `cache`.
  [[nodiscard]] std::optional<std::string> KeptFile() const;
  // Throws Error kUsage if the input makes batches itself and their size is not the requested one.
  void CheckBatch(const InputContext& context) const;

 private:
  void CheckStages(bool is_wrapped) const;
  void CheckOwnStages(bool is_wrapped) const;
  void CheckBucket(const InputContext& context) const;
  void SetCacheFile();
  // The size of a shuffle's window in records; nullopt for a full permutation.
  [[nodiscard]] std::optional<int64_t> Window() const;
  [[nodiscard]] std::string LastStage() const;

  InputFnOptions options_;
  const InputFnOptions original_;
  const std::string key_;
};

}  // namespace tpuest::data
