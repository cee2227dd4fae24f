#pragma once
// Writes records as TFRecords of tf.Examples, as jobs read them (`tpuest convert`). Labelled
// images: `image_raw`, the pixels as one string of bytes, and `label`, an int64. CSV: a feature a
// column, under its name.

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"

namespace tpuest::data {

struct ConvertOptions {
  SourceOptions source;          // idx, digits or CSV; skip and take choose a part
  std::string output;            // path of the file to write
  int64_t num_shards = 1;        // more: "<output>-00000-of-00004", as even as can be, in order
  std::string compression_type;  // "", "GZIP" or "ZLIB"
  bool dry_run = false;          // the report alone
};

struct ConvertReport {
  int64_t records = 0;
  std::vector<std::string> files;
  // YAML for an input_fn that reads the columns back as they were: the key `parse_example` and,
  // where the tf.Examples have other types, `map`.
  std::string input_fn;
};

// Converts. Files appear whole or not at all. Throws Error kUsage for images without labels, for
// float64 columns and for other sources; what reading and writing throw otherwise.
ConvertReport ConvertToTFRecord(const ConvertOptions& options);

}  // namespace tpuest::data
