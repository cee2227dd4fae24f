#pragma once
// Which keys of a job can change the bits of what it trains.

#include <string>
#include <string_view>

namespace tpuest::cli {

// False for keys of which it is known that a run's losses and parameters do not depend on them:
// where files go, how often something is written, how many threads there are, what is evaluated.
// `train_input` is the name of the input_fn that is trained on: others change nothing.
[[nodiscard]] bool CanChangeBits(std::string_view path, std::string_view train_input);

}  // namespace tpuest::cli
