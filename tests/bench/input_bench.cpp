// Records per second of the input alone: TFRecords of 784-byte images are read, checked, parsed,
// scaled to float and batched by 1024. Prints one JSON line a case.
//
//   input_bench [RECORDS] [THREADS] [FILE]

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "data/convert.h"
#include "data/input_fn.h"

namespace tpuest {
namespace {

constexpr int kRuns = 5;
constexpr double kPeer = 740000;          // tf.data, records/s
constexpr double kShuffledPeer = 422000;  // tf.data with shuffle(10000)

InputFnOptions Options(const std::string& path) {
  InputFnOptions options;
  TFRecordSource source;
  source.filenames = {path};
  options.source = source;
  options.parse_example["image_raw"] = FixedLenFeature{{}, "string", std::nullopt};
  options.parse_example["label"] = FixedLenFeature{{}, "int64", std::nullopt};
  DecodeRawMap decode;
  decode.in = "image_raw";
  decode.out = "image";
  decode.out_type = "uint8";
  decode.shape = {784};
  CastMap cast;
  cast.in = "image";
  cast.dtype = "float32";
  RescalingMap rescaling;
  rescaling.in = "image";
  rescaling.scale = 1.0 / 255;
  rescaling.offset = -0.5;
  CastMap label;
  label.in = "label";
  label.dtype = "int32";
  options.map = {decode, cast, rescaling, label};
  options.features = {"image"};
  options.labels = "label";
  return options;
}

double RecordsPerSecond(const InputFnOptions& options, int threads) {
  const SystemClock clock;
  const InputFn input_fn = MakeInputFn(options, "bench");
  InputContext context;
  context.mode = Mode::kEval;
  context.batch_size = 1024;
  context.threads = threads;
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double start = clock.Seconds();
    const std::unique_ptr<BatchStream> stream = input_fn(context);
    int64_t records = 0;
    while (const std::optional<Batch> batch = stream->Next()) records += batch->examples;
    best = std::max(best, static_cast<double>(records) / (clock.Seconds() - start));
  }
  return best;
}

void Print(const std::string& name, double value, double peer) {
  fmt::print(
      "{{\"bench\": \"P6\", \"case\": \"{}\", \"value\": {:.0f}, \"unit\": \"records/s\", "
      "\"peer\": \"tf.data\", \"peer_value\": {:.0f}, \"ratio\": {:.2f}}}\n",
      name, value, peer, value / peer);
}

void Run(int64_t records, int threads, const std::string& given) {
  const std::string path = given.empty() ? fmt::format("input_bench.{}.tfrecord", getpid()) : given;
  if (given.empty()) {
    ConvertOptions convert;
    convert.source = DigitsSource{{}, records, 1};
    convert.output = path;
    ConvertToTFRecord(convert);
  }
  InputFnOptions options = Options(path);
  Print("in order", RecordsPerSecond(options, threads), kPeer);
  options.shuffle = ShuffleOptions{};
  Print("shuffle full", RecordsPerSecond(options, threads), kShuffledPeer);
  options.shuffle->buffer_size = int64_t{10000};
  Print("shuffle 10000", RecordsPerSecond(options, threads), kShuffledPeer);
  if (given.empty()) RemoveFile(path);
}

}  // namespace
}  // namespace tpuest

int main(int argc, char** argv) {
  try {
    tpuest::Run(argc > 1 ? std::atoll(argv[1]) : 60000, argc > 2 ? std::atoi(argv[2]) : 2,
                argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
