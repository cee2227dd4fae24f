#pragma once
// Images and sounds of a batch as tf.compat.v1.summary.image and summary.audio record them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/events/event.h"

namespace tpuest {

// Returns the first `most` images of [batch, height, width, 1, 3 or 4] as PNG, "<tag>/image/<i>",
// or "<tag>/image" if `most` is 1. uint8 is used as it is; floating-point pixels are scaled per
// image: to 0 .. 255 if none is negative, otherwise around 128. Pixels that are not finite are red.
[[nodiscard]] std::vector<SummaryValue> ImageSummaries(const std::string& tag, const Tensor& images,
                                                       int64_t most);

// Returns the first `most` sounds of float [batch, frames] or [batch, frames, channels] as 16-bit
// WAV files, "<tag>/audio/<i>", or "<tag>/audio" if `most` is 1. The maximum amplitude is 1; larger
// values are clipped, and NaN is silent.
[[nodiscard]] std::vector<SummaryValue> AudioSummaries(const std::string& tag, const Tensor& sounds,
                                                       int64_t most, float sample_rate);

}  // namespace tpuest
