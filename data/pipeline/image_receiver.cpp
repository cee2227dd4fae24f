#include "data/pipeline/image_receiver.h"

#include <zlib.h>

#include <memory>

#include "core/ops/array.h"
#include "core/ops/decode_image.h"
#include "core/ops/elementwise.h"
#include "data/examples/column_plan.h"
#include "data/examples/example_parser.h"
#include "data/pipeline/input_fn.h"
#include "data/pipeline/map_graph.h"

namespace tpuest::data {
namespace {

constexpr const char* kImageBytes = "image_bytes";

[[noreturn]] void RefuseImages(const std::string& key, const std::string& found) {
  throw Error(Code::kUsage,
              fmt::format("image_bytes is for one image [height, width, 1 or 3] of numbers, the "
                          "input has {}",
                          found),
              "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn} takes "
              "features as they are")
      .Key(key + ".features");
}

bool IsImage(const TensorSpec& spec) {
  const Shape& shape = spec.shape;
  if (!(IsFloating(spec.dtype) || IsInteger(spec.dtype)) || !shape.fully_known()) return false;
  return shape.rank() == 2 || (shape.rank() == 3 && (shape.dim(2) == 1 || shape.dim(2) == 3));
}

int64_t ChannelsOf(const TensorSpec& image) {
  return image.shape.rank() == 3 ? image.shape.dim(2) : 1;
}

// The image that a receiver decodes, and the feature computed from it.
struct ServedImage {
  TensorSpec feature;
  size_t column;  // of the feature
  size_t image;   // the column that the files replace
};

// Finds the first image on the way to the only feature. Before it there may be files, images of any
// size, and rows of pixels that are only reshaped.
ServedImage FindImage(const InputFnOptions& options, const std::vector<TensorSpec>& read,
                      const MapGraph& columns, const std::string& key) {
  const InputPlan plan = PlanColumns(options, read, key);
  if (plan.features.size() != 1) {
    RefuseImages(key, fmt::format("{} features", plan.features.size()));
  }
  const TensorSpec& feature = plan.features.front().spec;
  const size_t column = columns.Last(feature.name);
  const std::vector<size_t> path = columns.Path(column);
  if (path.front() >= read.size()) {
    RefuseImages(key, fmt::format("'{}', which a formula makes", columns.spec(path.front()).name));
  }
  for (size_t i = 0; i < path.size(); ++i) {
    const TensorSpec& spec = columns.spec(path[i]);
    if (IsImage(spec)) return {feature, column, path[i]};
    const bool undecoded = spec.dtype == DType::kString || !spec.shape.fully_known();
    const bool reshaped = i + 1 < path.size() && columns.IsReshaped(path[i + 1]);
    if (!undecoded && !reshaped) break;
  }
  const TensorSpec& first = columns.spec(path.front());
  RefuseImages(key,
               fmt::format("'{}', {} {}", first.name, NameOf(first.dtype), first.shape.Text()));
}

class ImageReceiver {
 public:
  ImageReceiver(InputFnOptions options, const std::string& name, std::string interpolation,
                std::optional<int64_t> batch)
      : options_(std::move(options)),
        key_("input_fns." + name),
        interpolation_(std::move(interpolation)),
        batch_(batch) {}

  ServingInputReceiver Build(Graph& graph) const {
    const std::vector<TensorSpec> read =
        options_.parse_example.empty()
            ? SourceColumns(options_, key_)
            : ExampleParser(options_.parse_example, key_ + ".parse_example").columns();
    const MapGraph columns(options_, read);
    const ServedImage served = FindImage(options_, read, columns, key_);
    const Value bytes =
        graph.Placeholder(DType::kString, Shape({batch_.value_or(kUnknownDim)}), kImageBytes);
    std::map<size_t, Value> built = {{served.image, Pixels(bytes, columns.spec(served.image))}};
    ServingInputReceiver receiver;
    receiver.features[served.feature.name] = columns.Build(served.column, built);
    receiver.feature_keys[served.feature.name] = served.feature.key;
    receiver.receiver_tensors[kImageBytes] = bytes;
    return receiver;
  }

 private:
  // Decodes the files to the form of that column's images.
  [[nodiscard]] Value Pixels(Value bytes, const TensorSpec& image) const {
    const Shape& shape = image.shape;
    Value pixels = ops::DecodeImages(bytes,
                                     {.height = shape.dim(0),
                                      .width = shape.dim(1),
                                      .channels = ChannelsOf(image),
                                      .interpolation = interpolation_},
                                     "decode_images");
    if (shape.rank() == 2) {
      pixels = ops::Reshape(pixels, Shape{kUnknownDim, shape.dim(0), shape.dim(1)});
    }
    const bool rounds = IsFloating(pixels.dtype()) && IsInteger(image.dtype);
    return ops::Cast(rounds ? ops::ClipByValue(ops::Round(pixels), 0.0, 255.0) : pixels,
                     image.dtype);
  }

  InputFnOptions options_;
  std::string key_;
  std::string interpolation_;
  std::optional<int64_t> batch_;
};

// A chunk of a PNG file: its length, its name and content, and their checksum; numbers are
// big-endian.
std::string ChunkOf(const std::string& named) {
  const auto number = [](uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  };
  const auto* const bytes = reinterpret_cast<const Bytef*>(named.data());
  const auto sum = static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(named.size())));
  return number(static_cast<uint32_t>(named.size() - 4)) + named + number(sum);
}

// Encodes pixels of one or three channels as a PNG file with 8 bits per channel.
std::string PngOf(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels) {
  std::string header = "IHDR";
  for (const int64_t side : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(side >> shift);
  }
  const char color = channels == 1 ? 0 : 2;
  header += {8, color, 0, 0, 0};
  const auto row = static_cast<size_t>(width * channels);
  std::string rows;
  for (int64_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(pixels) + static_cast<size_t>(y) * row, row);
  }
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(rows.data()), rows.size(), 1);
  Check(code == Z_OK, "zlib has no memory");
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" + ChunkOf(header) + ChunkOf("IDAT" + packed) + ChunkOf("IEND");
}

// A source's column of images as PNG files, which are encoded at each read.
class PngSource final : public IndexedSource {
 public:
  PngSource(std::shared_ptr<IndexedSource> source, size_t column, TensorSpec image)
      : IndexedSource({SerializedColumn()}, source->files()),
        source_(std::move(source)),
        column_(column),
        image_(std::move(image)) {}
  [[nodiscard]] int64_t size() const override { return source_->size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return source_->From(index); }
  void Read(int64_t index, Row& row) const override {
    source_->Read(index, row);
    const auto* const pixels = static_cast<const uint8_t*>(row.columns[column_].data);
    const std::string file =
        PngOf(pixels, image_.shape.dim(0), image_.shape.dim(1), ChannelsOf(image_));
    row.bytes.assign(file.begin(), file.end());
    row.text = {reinterpret_cast<const char*>(row.bytes.data()), row.bytes.size()};
    row.columns.assign(1, {&row.text, 1});
  }

 private:
  std::shared_ptr<IndexedSource> source_;
  size_t column_;
  TensorSpec image_;
};

}  // namespace

ServingInputReceiverFn ImageBytesReceiverFn(InputFnOptions options, const std::string& name,
                                            const std::string& interpolation,
                                            std::optional<int64_t> default_batch_size) {
  const auto receiver = std::make_shared<const ImageReceiver>(std::move(options), name,
                                                              interpolation, default_batch_size);
  return [receiver](Graph& graph) { return receiver->Build(graph); };
}

InputFn ImageFilesInputFn(InputFnOptions options, const std::string& name) {
  if (Parses(options)) return {};
  InputFnOptions original = options;
  const std::string key = "input_fns." + name;
  const std::vector<TensorSpec> read = SourceColumns(options, key);
  const MapGraph columns(options, read);
  const ServedImage served = FindImage(options, read, columns, key);
  const size_t root = *columns.Roots(served.column).begin();
  if (read[root].dtype != DType::kUint8) return {};
  const auto files = [root, image = columns.spec(served.image)](AnySource source) -> AnySource {
    return std::make_shared<PngSource>(std::get<std::shared_ptr<IndexedSource>>(source), root,
                                       image);
  };
  // A reshape to the same shape only renames the column.
  ReshapeMap rename;
  rename.in = SerializedColumn().name;
  rename.out = kImageBytes;
  options.map = {rename};
  options.stages.clear();
  options.features = {kImageBytes};
  options.labels.reset();
  options.id.reset();
  options.forwarded.clear();
  return MakeWrappedInputFn(std::move(options), name, WrapSource(files), std::move(original));
}

}  // namespace tpuest::data
