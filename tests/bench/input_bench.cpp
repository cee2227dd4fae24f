// Measures records per second of only the input: TFRecords of 784-byte images are read, checked,
// parsed, scaled to float and batched by 1024; a file that ends in .csv is read, parsed and batched
// in the same way. Prints one JSON line per case.
//
//   input_bench FILE [THREADS]

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "data/pipeline/input_fn.h"

namespace tpuest {
namespace {

constexpr int kRuns = 5;

data::InputFnOptions Options(const std::string& path) {
  data::InputFnOptions options;
  data::TFRecordSource source;
  source.filenames = {path};
  options.source = source;
  options.parse_example["image_raw"] = data::FixedLenFeature{{}, "string", std::nullopt};
  options.parse_example["label"] = data::FixedLenFeature{{}, "int64", std::nullopt};
  data::DecodeRawMap decode;
  decode.in = "image_raw";
  decode.out = "image";
  decode.out_type = "uint8";
  decode.shape = {784};
  data::CastMap cast;
  cast.in = "image";
  cast.dtype = "float32";
  data::RescalingMap rescaling;
  rescaling.in = "image";
  rescaling.scale = 1.0 / 255;
  rescaling.offset = -0.5;
  data::CastMap label;
  label.in = "label";
  label.dtype = "int32";
  options.map = {decode, cast, rescaling, label};
  options.features = {"image"};
  options.labels = "label";
  return options;
}

data::InputFnOptions CsvOptions(const std::string& path) {
  data::CsvSource source;
  source.file_pattern = path;
  data::InputFnOptions options;
  options.source = source;
  return options;
}

double RecordsPerSecond(const data::InputFnOptions& options, int threads) {
  const SystemClock clock;
  InputContext context;
  context.mode = Mode::kEval;
  context.batch_size = 1024;
  context.threads = threads;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double start = clock.Seconds();
    // Opens the file each time, because finding the records is part of the work.
    const std::unique_ptr<BatchStream> stream = data::MakeInputFn(options, "bench")(context);
    int64_t records = 0;
    while (const std::optional<Batch> batch = stream->Next()) records += batch->examples;
    best = std::max(best, static_cast<double>(records) / (clock.Seconds() - start));
  }
  return best;
}

void Print(std::string_view name, double rate) {
  fmt::print("{{\"case\": \"{}\", \"value\": {:.0f}, \"unit\": \"records/s\"}}\n", name, rate);
}

void Run(const std::string& path, int threads) {
  const bool csv = path.ends_with(".csv");
  data::InputFnOptions options = csv ? CsvOptions(path) : Options(path);
  Print("in order", RecordsPerSecond(options, threads));
  options.shuffle = data::ShuffleOptions{};
  Print("shuffle full", RecordsPerSecond(options, threads));
  options.shuffle->buffer_size = int64_t{10000};
  Print("shuffle 10000", RecordsPerSecond(options, threads));
}

}  // namespace
}  // namespace tpuest

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "input_bench FILE [THREADS]\n");
    return 2;
  }
  try {
    tpuest::Run(argv[1], argc > 2 ? std::atoi(argv[2]) : 2);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
