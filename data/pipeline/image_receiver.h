#pragma once
// Requests that hold image files.

#include <cstdint>
#include <optional>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// A receiver of JPEG, PNG, BMP or GIF files: `image_bytes` string [batch], decoded and resized in
// the graph to the size and channels of the only image that the input_fn's source gives, and
// changed as its map steps change that. Pixels between others are rounded where the source has
// whole numbers. `interpolation` as of tf.image.resize.
//
// `name` is the key below input_fns. The function throws Error kUsage, at the job's keys, where
// the input gives other features than one image [height, width] or [height, width, channels] of 1
// or 3 channels.
[[nodiscard]] ServingInputReceiverFn ImageBytesReceiverFn(
    InputFnOptions options, const std::string& name, const std::string& interpolation,
    std::optional<int64_t> default_batch_size = {});

// The input_fn's records as what such a receiver takes, one feature each: PNG files of the source's
// images. An empty InputFn where the source has no images of bytes.
[[nodiscard]] InputFn ImageFilesInputFn(InputFnOptions options, const std::string& name);

}  // namespace tpuest::data
