#pragma once
// Makes small inputs, and reads their streams.

#include <doctest/doctest.h>
#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/io/examples/example.h"
#include "core/io/tfrecord.h"
#include "data/pipeline/input_fn.h"
#include "tests/temporary_folder.h"

namespace tpuest::data {

// The first fault that fn throws; Code::kInternal if it throws nothing.
struct Thrown {
  std::string message = "nothing was thrown";
  std::string hint;
  std::string key;
  Code code = Code::kInternal;
};
template <class Fn>
Thrown ErrorOf(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    const Fault& fault = error.faults().front();
    return {fault.message, fault.hint, fault.key, error.code()};
  }
  return {};
}

inline bool Has(const std::string& text, const std::string& part) {
  const bool has = text.find(part) != std::string::npos;
  if (!has) MESSAGE("'" << text << "' lacks '" << part << "'");
  return has;
}

// Writes TFRecords of Examples {value: int64}, first to first + count - 1.
inline void WriteValues(const std::string& path, int64_t first, int64_t count,
                        Compression compression = Compression::kNone) {
  RecordWriter writer(path, compression, false);
  ExampleWriter example;
  for (int64_t i = first; i < first + count; ++i) {
    example.Int("value", i);
    writer.Write(example.Finish());
  }
  writer.Close();
}

inline FixedLenFeature Fixed(std::vector<int64_t> shape, const std::string& dtype) {
  FixedLenFeature feature;
  feature.shape = std::move(shape);
  feature.dtype = dtype;
  return feature;
}

// The input with the column `value` of such files.
inline InputFnOptions ValuesOf(std::vector<std::string> filenames,
                               const std::string& compression = "") {
  TFRecordSource source;
  source.filenames = std::move(filenames);
  source.compression_type = compression;
  InputFnOptions options;
  options.source = source;
  options.parse_example["value"] = Fixed({}, "int64");
  return options;
}

// The input with the column `value`, 0 to count - 1.
inline InputFnOptions RangeOf(int64_t count) {
  RangeSource source;
  source.stop = count;
  InputFnOptions options;
  options.source = source;
  return options;
}

inline InputFnOptions SlicesOf(std::map<std::string, Raw> values) {
  SlicesSource source;
  source.values = std::move(values);
  InputFnOptions options;
  options.source = source;
  return options;
}

inline ShuffleOptions Full() { return {}; }
inline ShuffleOptions Window(int64_t size) {
  ShuffleOptions shuffle;
  shuffle.buffer_size = size;
  return shuffle;
}

struct Ask {
  int64_t batch_size = 4;
  Mode mode = Mode::kEval;
  int threads = 2;
  bool pad_last = false;
  uint64_t seed = 7;
  bool seeds_by_name = false;
};
inline std::unique_ptr<BatchStream> Open(const InputFnOptions& options, const Ask& ask = {}) {
  InputContext context;
  context.mode = ask.mode;
  context.batch_size = ask.batch_size;
  context.pad_last = ask.pad_last;
  context.seed = ask.seed;
  context.threads = ask.threads;
  context.seeds_by_name = ask.seeds_by_name;
  return MakeInputFn(options, "train")(context);
}

inline std::vector<int64_t> Ints(const Tensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    values.push_back(static_cast<int64_t>(tensor.AsDouble(i)));
  }
  return values;
}
inline std::vector<double> Numbers(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(tensor.AsDouble(i));
  return values;
}

// The values of the first feature, of up to `limit` batches.
using Batches = std::vector<std::vector<int64_t>>;
inline Batches Take(BatchStream& stream, int64_t limit = 1000) {
  Batches batches;
  for (int64_t i = 0; i < limit; ++i) {
    const std::optional<Batch> batch = stream.Next();
    if (!batch) break;
    batches.push_back(Ints(batch->features[0]));
  }
  return batches;
}
inline std::vector<int64_t> Flat(const Batches& batches) {
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& batch : batches)
    all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

// The rows of an input of at most 100.
inline Batch AllRows(const InputFnOptions& options) {
  return *Open(options, {.batch_size = 100})->Next();
}

// Writes a file into the folder; returns its path.
inline std::string Put(const TemporaryFolder& folder, const std::string& name,
                       const std::string& bytes) {
  WriteFileAtomically(folder.File(name), bytes, false);
  return folder.File(name);
}

inline void WriteGzip(const std::string& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) ==
          static_cast<int>(bytes.size()));
  gzclose(file);
}

}  // namespace tpuest::data
