#pragma once
// An input_fn that reads another file than the job's: rows to predict (`predict --input FILE`).

#include <string>

#include "data/options.h"

namespace tpuest::data {

// An image, or a folder of images, stands in for the folder of image_dataset_from_directory, and
// for TFRecords whose images are decoded by a map op.
//
// The input_fn with `path` in the place of its source's files: all of it, once and in order; "-" is
// the standard input (CSV). Labels are not read: the file need not have them. The columns of a CSV
// file have the types that the input_fn's own have; without column_names they may stand in any
// order. `name` is the key below input_fns. Throws Error kUsage for a source without files, and
// what opening the input_fn's own files throws where their types are needed.
[[nodiscard]] InputFnOptions WithFile(InputFnOptions options, const std::string& path,
                                      const std::string& name);

}  // namespace tpuest::data
