#pragma once
// The stages that make_csv_dataset itself adds if a job passes it their arguments.

#include <cstdint>
#include <optional>
#include <string>

#include "data/options.h"

namespace tpuest::data {

// Converts shuffle, shuffle_buffer_size, shuffle_seed and num_epochs of a make_csv_dataset to the
// input_fn's shuffle and repeat, or to its first stages if it has `stages`; also for datasets that
// its stages name. Throws kUsage, below `key` (input_fns.NAME), for an option that is given in both
// places or is invalid.
void TakeCsvStages(InputFnOptions& options, const std::string& key);

// The batch size that the input_fn itself sets, by its last stage or by a make_csv_dataset with
// batch_size; nullopt if the caller chooses it.
[[nodiscard]] std::optional<int64_t> BatchOf(const InputFnOptions& options);

}  // namespace tpuest::data
