#pragma once
// Receivers of requests that contain image files.

#include <cstdint>
#include <optional>
#include <string>

#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// A receiver of JPEG, PNG, BMP or GIF files: `image_bytes` string [batch]. The graph decodes them,
// resizes them to the size and channels of the only image column of the input_fn's source, and
// applies the map steps. Interpolated pixels are rounded if the source has integers.
// `interpolation`: as in tf.image.resize.
//
// `name` is the key below input_fns. The function throws kUsage, at the job's keys, if the input's
// features are not exactly one image [height, width] or [height, width, channels] of 1 or 3
// channels.
[[nodiscard]] ServingInputReceiverFn ImageBytesReceiverFn(
    InputFnOptions options, const std::string& name, const std::string& interpolation,
    std::optional<int64_t> default_batch_size = {});

// The input_fn's records in the form that such a receiver takes: one feature, PNG files of the
// source's images. An empty InputFn if the source has no uint8 images.
[[nodiscard]] InputFn ImageFilesInputFn(InputFnOptions options, const std::string& name);

}  // namespace tpuest::data
