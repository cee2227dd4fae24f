#pragma once
// The stages that make_csv_dataset makes itself, where a job gives it the arguments for them.

#include <cstdint>
#include <optional>
#include <string>

#include "data/options.h"

namespace tpuest::data {

// Takes shuffle, shuffle_buffer_size, shuffle_seed and num_epochs of a make_csv_dataset as the
// input_fn's shuffle and repeat, or as its first stages where it has an order of its own; the same
// of datasets that its stages name. Error kUsage, below `key` (input_fns.NAME), where one is said
// in both places, or cannot be.
void TakeCsvStages(InputFnOptions& options, const std::string& key);

// How many examples the input_fn itself makes a batch of: the last of its stages, or a
// make_csv_dataset with a batch_size. nullopt: as many as it is asked for.
[[nodiscard]] std::optional<int64_t> BatchOf(const InputFnOptions& options);

}  // namespace tpuest::data
