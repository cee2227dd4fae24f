#pragma once
// Writes labelled images as TFRecords of tf.Examples, as jobs read them: `image_raw`, the pixels as
// one string of bytes, and `label`, an int64.

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"

namespace tpuest {

struct ConvertOptions {
  SourceOptions source;          // idx or digits; skip and take choose a part
  std::string output;            // path of the file to write
  int64_t num_shards = 1;        // more: "<output>-00000-of-00004", as even as can be, in order
  std::string compression_type;  // "", "GZIP" or "ZLIB"
};

struct ConvertReport {
  int64_t records = 0;
  std::vector<std::string> files;
};

// Files appear whole or not at all. Error kUsage for a source without columns `image` uint8 and
// `label`; what reading and writing throw otherwise.
ConvertReport ConvertToTFRecord(const ConvertOptions& options);

}  // namespace tpuest
