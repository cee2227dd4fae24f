#pragma once
// Sounds of a batch as tf.compat.v1.summary.audio records them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/events/event.h"

namespace tpuest {

// The first `most` sounds of float [batch, frames] or [batch, frames, channels] as WAV files of 16
// bits, "<tag>/audio/<i>", or "<tag>/audio" where `most` is 1. 1 is the loudest; what is louder is
// cut, what is no number is silent.
[[nodiscard]] std::vector<SummaryValue> AudioSummaries(const std::string& tag, const Tensor& sounds,
                                                       int64_t most, float sample_rate);

}  // namespace tpuest
