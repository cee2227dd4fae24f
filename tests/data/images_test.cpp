// Map ops on images: their results and their random numbers.

#include <algorithm>
#include <cmath>

#include "core/io/images/image.h"
#include "data/images/geometry.h"
#include "data/images/shapes.h"
#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

using Numbered = std::vector<double>;

InputFnOptions WithOps(InputFnOptions options, std::vector<MapOptions> ops) {
  options.map = std::move(ops);
  options.features = {"x"};
  return options;
}

// The column x of one example, with the rows `image`, after a cast to `dtype` and the ops.
Tensor Changed(const std::string& image, const std::string& dtype, std::vector<MapOptions> ops) {
  ops.insert(ops.begin(), CastTo("x", dtype));
  const auto stream = Open(WithOps(SlicesOf({{"x", {"[" + image + "]"}}}), std::move(ops)));
  Tensor result = stream->Next()->features[0];
  CHECK(stream->spec().features[0].dtype == result.dtype());
  return result;
}

Thrown Refused(MapOptions op, const std::string& image = "[[[1, 2, 3]]]") {
  InputFnOptions options = SlicesOf({{"x", {"[" + image + "]"}}});
  options.map = {CastTo("x", "uint8"), std::move(op)};
  return ErrorOf([&] { (void)MakeInputFn(options, "train"); });
}

ResizeMap To(std::vector<int64_t> size, const std::string& method = "bilinear") {
  auto op = On<ResizeMap>("x");
  op.size = std::move(size);
  op.method = method;
  return op;
}

// TFRecords of JPEG files of generated shapes, 24 x 24, with their labels.
void WriteShapes(const std::string& path, int64_t count) {
  RecordWriter writer(path, Compression::kNone, false);
  ExampleWriter example;
  DecodedImage image;
  image.Resize(24, 24, 3);
  for (int64_t i = 0; i < count; ++i) {
    example.Int("label", DrawShape({.seed = 3, .size = 24}, i, image.pixels.data()));
    example.Bytes("file", EncodeJpeg(image, 90));
    writer.Write(example.Finish());
  }
  writer.Close();
}

InputFnOptions ShapesOf(const std::string& path, std::vector<MapOptions> ops) {
  TFRecordSource source;
  source.filenames = {path};
  InputFnOptions options;
  options.source = source;
  options.parse_example["file"] = Fixed({}, "string");
  return WithOps(std::move(options), std::move(ops));
}

std::vector<MapOptions> Augmentations() {
  auto decode = On<DecodeRandomCropMap>("file", "x");
  decode.area_range = {0.3, 0.9};
  auto crop = On<RandomCropMap>("x");
  crop.size = {16, 16, 3};
  auto bright = On<RandomBrightnessMap>("x");
  bright.max_delta = 20;
  auto contrast = On<RandomContrastMap>("x");
  contrast.lower = 0.5;
  contrast.upper = 1.5;
  return {decode, To({20, 20}), crop, On<FlipLeftRightMap>("x"), bright, contrast};
}

// The first `rows` examples of a stream, each as numbers.
std::vector<Numbered> Examples(BatchStream& stream, int64_t rows) {
  std::vector<Numbered> examples;
  while (static_cast<int64_t>(examples.size()) < rows) {
    const std::optional<Batch> batch = stream.Next();
    REQUIRE(batch.has_value());
    const std::vector<double> all = Numbers(batch->features[0]);
    const size_t one = all.size() / static_cast<size_t>(batch->examples);
    for (size_t i = 0; i < all.size(); i += one) {
      examples.emplace_back(all.begin() + static_cast<int64_t>(i),
                            all.begin() + static_cast<int64_t>(i + one));
    }
  }
  examples.resize(static_cast<size_t>(rows));
  return examples;
}

}  // namespace

TEST_CASE("crops and padding lie where TensorFlow puts them") {
  const std::string square = "[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]";
  auto middle = On<CentralCropMap>("x");
  middle.central_fraction = 0.3;
  CHECK(Numbers(Changed(square, "uint8", {middle})) == Numbered{5});
  auto fit = On<CropOrPadMap>("x");
  fit.target_height = 2;
  fit.target_width = 4;
  // One row too many: the last one is cut off. One column too few: it is added at the end.
  CHECK(Numbers(Changed(square, "uint8", {fit})) == Numbered{1, 2, 3, 0, 4, 5, 6, 0});
  auto pad = On<ResizeWithPadMap>("x");
  pad.target_height = 3;
  pad.target_width = 5;
  CHECK(Numbers(Changed(square, "uint8", {pad})) ==
        Numbered{0, 1, 2, 3, 0, 0, 4, 5, 6, 0, 0, 7, 8, 9, 0});
}

TEST_CASE("resize makes floats, and nearest keeps the type") {
  const std::string row = "[[[0], [10]]]";
  const Tensor wide = Changed(row, "uint8", {To({1, 4})});
  CHECK(wide.dtype() == DType::kFloat);
  CHECK(Numbers(wide) == Numbered{0, 2.5, 7.5, 10});
  const Tensor nearest = Changed(row, "uint8", {To({1, 4}, "nearest")});
  CHECK(nearest.dtype() == DType::kUint8);
  CHECK(Numbers(nearest) == Numbered{0, 0, 10, 10});
  auto old = To({1, 4});
  old.half_pixel_centers = false;
  CHECK(Numbers(Changed(row, "float32", {old})) == Numbered{0, 5, 10, 10});
}

TEST_CASE("steps on values follow ops on images") {
  auto op = On<NormalizeMap>("x");
  op.mean = {1, 2, 3};
  op.std = {1, 1, 2};
  auto flat = On<ReshapeMap>("x");
  flat.shape = {-1};
  const Tensor result = Changed("[[[1, 3, 5]]]", "uint8", {To({2, 1}), op, Rescale("x", 2), flat});
  CHECK(result.shape() == Shape({1, 6}));
  CHECK(Numbers(result) == Numbered{0, 2, 2, 0, 2, 2});
}

TEST_CASE("an image is standardized to mean 0 and deviation 1") {
  CHECK(Numbers(Changed("[[[1], [3]]]", "uint8", {On<StandardizationMap>("x")})) ==
        Numbered{-1, 1});
  // The deviation is at least 1 / sqrt(values).
  CHECK(Numbers(Changed("[[[5], [5]]]", "float32", {On<StandardizationMap>("x")})) ==
        Numbered{0, 0});
}

TEST_CASE("converting between bytes and floats goes there and back") {
  auto floats = On<ConvertImageDtypeMap>("x");
  floats.dtype = "float32";
  const std::string image = "[[[0], [1], [128], [255]]]";
  const Numbered made = Numbers(Changed(image, "uint8", {floats}));
  CHECK(made[3] == 1);
  CHECK(made[1] == doctest::Approx(1 / 255.0));
  auto bytes = On<ConvertImageDtypeMap>("x");
  bytes.dtype = "uint8";
  bytes.saturate = true;
  CHECK(Numbers(Changed(image, "uint8", {floats, bytes})) == Numbered{0, 1, 128, 255});
  CHECK(Numbers(Changed("[[[-1.0], [0.5], [7.0]]]", "float32", {bytes})) == Numbered{0, 127, 255});
}

TEST_CASE("hue and saturation change colours, but not gray") {
  auto hue = On<RandomHueMap>("x");
  hue.max_delta = 0.5;
  auto saturation = On<RandomSaturationMap>("x");
  saturation.lower = 0;
  saturation.upper = 2;
  const Numbered gray = {0.25, 0.25, 0.25};
  CHECK(Numbers(Changed("[[[0.25, 0.25, 0.25]]]", "float32", {hue, saturation})) == gray);
  const Numbered turned = Numbers(Changed("[[[1.0, 0.5, 0.0]]]", "float32", {hue}));
  CHECK(*std::ranges::max_element(turned) == 1);
  CHECK(*std::ranges::min_element(turned) == 0);
  CHECK(turned != Numbered{1, 0.5, 0});
  const Numbered paler = Numbers(Changed("[[[1.0, 0.5, 0.0]]]", "float32", {saturation}));
  CHECK(paler[0] == 1);
  CHECK(paler[1] == doctest::Approx((1 + paler[2]) / 2));
}

TEST_CASE("an augmented image is the same for any workers, batch and resume") {
  const TemporaryFolder folder;
  const std::string path = folder.File("shapes.tfrecord");
  WriteShapes(path, 10);
  InputFnOptions options = ShapesOf(path, Augmentations());
  options.repeat = 3;
  const auto first = Examples(*Open(options, {.batch_size = 5, .threads = 1}), 30);
  CHECK(Examples(*Open(options, {.batch_size = 3, .threads = 4}), 30) == first);
  // The random numbers of four epochs differ, also for one record.
  CHECK(first[0] != first[10]);
  CHECK(first[0] != first[20]);
  CHECK(Examples(*Open(options, {.seed = 8}), 1)[0] != first[0]);

  const auto resumed = Open(options, {.batch_size = 4});
  resumed->Seek({1, 6});
  CHECK(Examples(*resumed, 4) == std::vector(first.begin() + 16, first.begin() + 20));

  // A shuffled record keeps its random numbers: the images are the same, in another order.
  options.repeat = 1;
  auto plain = Examples(*Open(options), 10);
  options.shuffle = Full();
  auto shuffled = Examples(*Open(options), 10);
  CHECK(plain != shuffled);
  std::ranges::sort(plain);
  std::ranges::sort(shuffled);
  CHECK(plain == shuffled);
}

TEST_CASE("an op of its own seed, and two ops of a kind, draw other numbers") {
  const TemporaryFolder folder;
  const std::string path = folder.File("shapes.tfrecord");
  WriteShapes(path, 8);
  auto crop = On<RandomCropMap>("x");
  crop.size = {4, 4};
  const auto of = [&](std::vector<MapOptions> ops) {
    auto decode = On<DecodeImageMap>("file", "x");
    decode.channels = 3;
    ops.insert(ops.begin(), decode);
    return Examples(*Open(ShapesOf(path, std::move(ops))), 8);
  };
  auto own = crop;
  own.seed = 99;
  CHECK(of({crop}) == of({crop}));
  CHECK(of({crop}) != of({own}));
  auto wide = crop;
  wide.size = {24, 24};
  CHECK(of({wide, crop}) != of({crop}));
}

TEST_CASE("ops with one seed change an image and its mask alike, and the run's seed counts") {
  const TemporaryFolder folder;
  const std::string path = folder.File("shapes.tfrecord");
  WriteShapes(path, 16);
  using Seed = std::optional<uint64_t>;
  // The image "x" and the mask "y", the same pixels, each with its own crop and flip.
  const auto of = [&](Seed image, Seed mask, Ask ask) {
    std::vector<MapOptions> ops;
    const auto add = [&](const std::string& column, Seed seed) {
      auto decode = On<DecodeImageMap>("file", column);
      decode.channels = 3;
      auto crop = On<RandomCropMap>(column);
      crop.size = {16, 16};
      crop.seed = seed;
      auto flip = On<FlipLeftRightMap>(column);
      flip.seed = seed;
      ops.insert(ops.end(), {decode, crop, flip});
    };
    // An additional op on the image, before all others, does not change the ops on the mask.
    add("z", 1);
    add("x", image);
    add("y", mask);
    InputFnOptions options = ShapesOf(path, std::move(ops));
    options.features = {"x", "y"};
    options.repeat = 2;
    ask.batch_size = 32;
    const Batch batch = *Open(options, ask)->Next();
    return std::pair(Numbers(batch.features[0]), Numbers(batch.features[1]));
  };
  constexpr uint64_t kLarge = uint64_t{1} << 40;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{5}, kLarge, ~uint64_t{0}}) {
    CAPTURE(seed);
    const auto [image, mask] = of(seed, seed, {});
    CHECK(image == mask);
    CHECK(image != of(seed, seed, {.seed = 8}).first);
    CHECK(image != of(seed + 1, seed, {}).first);
    const auto [own, other] = of(seed, seed + 1, {});
    CHECK(own != other);
  }
  const auto [image, mask] = of({}, {}, {});
  CHECK(image != mask);
  // The rule of older runs: the op's position counts, and the run's seed does not.
  const Ask old{.seeds_by_name = true};
  const auto [old_image, old_mask] = of(5, 5, old);
  CHECK(old_image != old_mask);
  CHECK(old_image == of(5, 5, {.seed = 8, .seeds_by_name = true}).first);
  CHECK(of({}, {}, old).first == image);
}

TEST_CASE("ten thousand crops keep to their ranges") {
  DistortedBox box;
  box.aspect_ratio_range = {3.0 / 4, 4.0 / 3};
  box.area_range = {0.08, 1};
  box.max_attempts = 10;
  double sum = 0;
  int whole = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    Draws draws = DrawsFor({1, 0, 0, i}, 7);
    const CropWindow crop = SampleDistortedBox(box, 375, 500, draws);
    REQUIRE(
        (crop.y >= 0 && crop.x >= 0 && crop.y + crop.height <= 375 && crop.x + crop.width <= 500));
    const double area = static_cast<double>(crop.height * crop.width) / (375 * 500);
    if (area == 1) {
      ++whole;
      continue;
    }
    const double ratio = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    CHECK(area >= 0.08);
    CHECK((ratio > 0.74 && ratio < 1.35));
    sum += area;
  }
  CHECK(whole < 100);
  CHECK(sum / (10'000 - whole) == doctest::Approx(0.391).epsilon(0.02));
}

TEST_CASE("the crop for evaluation is tensorflow/tpu's") {
  const CropWindow crop = EvaluationCrop(224, 32, 375, 500);
  CHECK(crop.height == 328);
  CHECK(crop.width == 328);
  CHECK(crop.y == 24);
  CHECK(crop.x == 86);
  const CropWindow pixel = EvaluationCrop(224, 32, 1, 1);
  CHECK((pixel.y == 0 && pixel.x == 0 && pixel.height == 1 && pixel.width == 1));
}

TEST_CASE("a damaged image is named with its file and record") {
  const TemporaryFolder folder;
  const std::string path = folder.File("bad.tfrecord");
  RecordWriter writer(path, Compression::kNone, false);
  ExampleWriter example;
  example.Bytes("file", "\xff\xd8\xff\xe0 no more");
  writer.Write(example.Finish());
  writer.Close();
  auto decode = On<DecodeImageMap>("file", "x");
  decode.channels = 3;
  const auto stream = Open(ShapesOf(path, {decode, To({8, 8})}));
  const Thrown thrown = ErrorOf([&] { (void)stream->Next(); });
  CHECK(thrown.code == Code::kData);
  CHECK(Has(thrown.message, "bad.tfrecord: record 0: damaged JPEG: "));
}

TEST_CASE("an image column that an op cannot process is refused at the op's place") {
  auto crop = On<RandomCropMap>("x");
  crop.size = {4, 4};
  const Thrown large = Refused(crop);
  CHECK(large.key == "input_fns.train.map[1]");
  CHECK(large.message ==
        "random_crop of \"x\" (uint8 [1,1,3]): a crop of 4x4 is larger than the image");
  CHECK(Has(Refused(On<DecodeImageMap>("x")).message, "expected one string per example"));
  CHECK(Has(Refused(On<FlipUpDownMap>("x"), "[1, 2]").message, "expected an image"));
  CHECK(Has(Refused(To({1})).message, "size: expected [height, width]"));
  auto hue = On<RandomHueMap>("x");
  CHECK(Has(Refused(hue, "[[[1]]]").message, "expected three channels"));
  auto box = On<DistortedBoxMap>("x");
  CHECK(Has(Refused(box).message, "images of a batch need one size"));
  box.area_range = {0, 2};
  CHECK(Has(Refused(box).message, "area_range"));
}

TEST_CASE("shapes are a function of seed and index") {
  std::vector<uint8_t> pixels(32 * 32 * 3);
  std::vector<uint8_t> again(pixels.size());
  std::vector<int> seen(10);
  for (int64_t i = 0; i < 500; ++i) {
    const int32_t label = DrawShape({.seed = 1}, i, pixels.data());
    ++seen[static_cast<size_t>(label)];
    if (i % 50 != 0) continue;
    CHECK(DrawShape({.seed = 1}, i, again.data()) == label);
    CHECK(pixels == again);
    DrawShape({.seed = 2}, i, again.data());
    CHECK(pixels != again);
  }
  for (const int count : seen) CHECK(count > 25);
  CHECK(ShapeNames(ShapeFamily::kFlowers).size() == 5);
}

}  // namespace tpuest::data
