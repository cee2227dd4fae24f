#pragma once
// Images and sounds of a batch as tf.compat.v1.summary.image and summary.audio record them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/events/event.h"

namespace tpuest {

// The first `most` images of [batch, height, width, 1, 3 or 4] as PNG, "<tag>/image/<i>", or
// "<tag>/image" where `most` is 1. uint8 is taken as it is; real pixels are stretched, each image
// by itself: from 0 to 255 where none is below 0, else around 128. Those that are not finite are
// red.
[[nodiscard]] std::vector<SummaryValue> ImageSummaries(const std::string& tag, const Tensor& images,
                                                       int64_t most);

// The first `most` sounds of float [batch, frames] or [batch, frames, channels] as WAV files of 16
// bits, "<tag>/audio/<i>", or "<tag>/audio" where `most` is 1. 1 is the loudest; what is louder is
// cut, what is no number is silent.
[[nodiscard]] std::vector<SummaryValue> AudioSummaries(const std::string& tag, const Tensor& sounds,
                                                       int64_t most, float sample_rate);

}  // namespace tpuest
