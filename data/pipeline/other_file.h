#pragma once
// Makes an input_fn read another file than the job's: rows to predict (`predict --input FILE`).

#include <string>

#include "data/options.h"

namespace tpuest::data {

// An image or a folder of images replaces the folder of image_dataset_from_directory, or TFRecords
// whose images a map op decodes.
//
// Returns the input_fn with `path` instead of its source's files, read completely, once and in
// order; "-" is the standard input (CSV). Labels are not read, so the file need not have them. The
// columns of a CSV file have the types of the input_fn's own; without column_names their order is
// free. `name` is the key below input_fns. Throws kUsage for a source without files, and the errors
// of opening the input_fn's own files if their types are needed.
[[nodiscard]] InputFnOptions WithFile(InputFnOptions options, const std::string& path,
                                      const std::string& name);

}  // namespace tpuest::data
