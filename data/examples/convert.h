#pragma once
// Writes records as TFRecords of tf.Examples, in the form that jobs read (`tpuest convert`).
// Labelled images become `image_raw`, the pixels as one string of bytes, and `label`, an int64. A
// CSV column becomes a feature of the same name.

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"

namespace tpuest::data {

struct ConvertOptions {
  SourceOptions source;    // idx, digits or CSV; skip and take choose a part
  std::string output;      // path of the file to write
  int64_t num_shards = 1;  // above 1: "<output>-00000-of-00004", of nearly equal sizes, in order
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  bool dry_run = false;          // only the report
};

struct ConvertReport {
  int64_t records = 0;
  std::vector<std::string> files;
  // YAML for an input_fn that restores the original columns: the key `parse_example` and, for types
  // that tf.Examples lack, `map`.
  std::string input_fn;
};

// Converts the source. Files appear complete or not at all. Throws kUsage for images without
// labels, float64 columns and other sources; otherwise the errors of reading and writing.
ConvertReport ConvertToTFRecord(const ConvertOptions& options);

}  // namespace tpuest::data
