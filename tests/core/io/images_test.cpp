// Images as TensorFlow decodes them: make_images.py wrote tests/testdata/images and the expected
// pixels.

#include "core/io/crc32c.h"
#include "core/io/images/image.h"
#include "tests/core/io/damaged.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

std::string Image(const std::string& name) { return ReadFile(TestData("images/" + name)); }

std::string_view Bytes(const DecodedImage& image) {
  return {reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()};
}

using PixelsShape = std::vector<int64_t>;
PixelsShape ShapeOf(const DecodedImage& image) {
  return {image.height, image.width, image.channels};
}

void DecodeAs(const nlohmann::json& how, const std::string& bytes, DecodedImage& image) {
  if (how.contains("crop")) {
    const PixelsShape at = how.at("crop");
    return DecodeAndCrop(bytes, 0, {at[0], at[1], at[2], at[3]}, image);
  }
  if (how.contains("ratio")) return DecodeJpeg(bytes, {.ratio = how.at("ratio")}, image);
  if (how.contains("plain")) {
    return DecodeJpeg(bytes, {.accurate_dct = true, .fancy_upscaling = false}, image);
  }
  DecodeImage(bytes, how.at("channels"), image);
}

TEST_CASE("every kind of image has TensorFlow's pixels") {
  DecodedImage image;  // reused for all images
  int decoded = 0;
  for (const nlohmann::json& expected : nlohmann::json::parse(Image("pixels.json"))) {
    CAPTURE(expected.dump());
    DecodeAs(expected, Image(expected.at("file")), image);
    CHECK(ShapeOf(image) == PixelsShape(expected.at("shape")));
    CHECK(Crc32c(Bytes(image)) == expected.at("crc").get<uint32_t>());
    ++decoded;
  }
  CHECK(decoded > 90);
}

TEST_CASE("a header says what decoding gives, without decoding") {
  for (const nlohmann::json& expected : nlohmann::json::parse(Image("pixels.json"))) {
    if (expected.at("channels") != 0 || expected.contains("crop") || expected.contains("ratio")) {
      continue;
    }
    CAPTURE(expected.dump());
    const ImageHeader header = ReadImageHeader(Image(expected.at("file")));
    CHECK(PixelsShape{header.height, header.width, header.channels} ==
          PixelsShape(expected.at("shape")));
  }
  CHECK(ReadImageHeader(Image("rgb16.png")).bits == 16);
  CHECK(ReadImageHeader(Image("palette.png")).notes == "palette");
  CHECK(ReadImageHeader(Image("progressive.jpg")).notes == "progressive");
  CHECK(ReadImageHeader(Image("cmyk.jpg")).notes == "CMYK");
}

TEST_CASE("the first bytes say what an image is, not its name") {
  CHECK(ImageFormatOf(Image("gray.jpg")) == ImageFormat::kJpeg);
  CHECK(ImageFormatOf(Image("frame.gif")) == ImageFormat::kGif);
  CHECK(ImageFormatOf("RIFF....WEBP") == std::nullopt);
  CHECK(HasImageEnding("a/b.JPeG"));
  CHECK_FALSE(HasImageEnding("jpg"));
  CHECK_FALSE(HasImageEnding("a.jpg.txt"));
  DecodedImage image;
  const Thrown thrown = ErrorOf([&] { DecodeImage("RIFF....WEBP", 0, image); });
  CHECK(thrown.message ==
        "no image: its first bytes are 52 49 46 46; expected JPEG, PNG, BMP or GIF");
  CHECK(thrown.code == Code::kData);
}

TEST_CASE("a file that ends early is damaged, wherever it ends") {
  DecodedImage image;
  for (const std::string name : {"baseline.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png",
                                 "interlaced.png", "bgr.bmp", "frame.gif"}) {
    const std::string whole = Image(name);
    // The last bytes of a GIF say that no frame follows.
    const size_t most = name == "frame.gif" ? whole.size() - 8 : whole.size();
    for (size_t size = 0; size < most; size += 1 + size / 16) {
      CAPTURE(name);
      CAPTURE(size);
      const Thrown thrown = ErrorOf([&] { DecodeImage(whole.substr(0, size), 0, image); });
      CHECK(thrown.code == Code::kData);
    }
  }
  CHECK(ErrorOf([&] { DecodeImage(Image("rgb.png").substr(0, 1000), 0, image); }).message ==
        "damaged PNG: the file ends early");
  CHECK(ErrorOf([&] { DecodeImage(Image("full.jpg").substr(0, 700), 0, image); }).message ==
        "damaged JPEG: the file ends early");
}

TEST_CASE("a flipped byte gives pixels or an error") {
  DecodedImage image;
  for (const std::string name : {"baseline.jpg", "progressive.jpg", "adobe.jpg", "rgba.png",
                                 "palette_clear.png", "bgra_top_down.bmp", "interlaced.gif"}) {
    const std::string whole = Image(name);
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 300) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      try {
        // The damaged header may ask for half a gigabyte, which is legal but slow.
        const ImageHeader header = ReadImageHeader(damaged);
        if (header.height * header.width > 1'000'000) continue;
        DecodeImage(damaged, 0, image);
        CHECK(ShapeOf(image) == PixelsShape{header.height, header.width, header.channels});
      } catch (const Error& error) {
        CHECK(error.code() == Code::kData);
        CHECK(error.message().size() < 200);
      }
    }
  }
}

// Whether the image is refused by one short message with a code for files.
bool IsRefusedImage(const std::string& bytes, DecodedImage& image) {
  try {
    const ImageHeader header = ReadImageHeader(bytes);
    // The damaged header may ask for half a gigabyte, which is legal but slow.
    if (header.height * header.width < 1'000'000) DecodeImage(bytes, 0, image);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    CHECK(error.faults().size() == 1);
    CHECK(error.message().size() < 200);
    return true;
  }
  return false;
}

TEST_CASE("10,000 damaged JPEG and PNG files are read or refused, never worse") {
  DecodedImage image;
  for (const std::string name :
       {"baseline.jpg", "progressive.jpg", "adobe.jpg", "cmyk.jpg", "gray.jpg", "rgb.png",
        "palette.png", "interlaced.png", "rgb16.png", "rgba.png"}) {
    CAPTURE(name);
    const std::string whole = Image(name);
    std::mt19937 random(17);
    int refused = 0;
    for (int i = 0; i < 1000; ++i) {
      refused += static_cast<int>(IsRefusedImage(Damaged(whole, random), image));
    }
    CHECK(refused > (name.ends_with(".png") ? 700 : 100));
  }
}

TEST_CASE("an image larger than memory should hold is refused by its header") {
  std::string png = Image("rgb.png");
  // The sizes in its header, and their checksum.
  png.replace(16, 8, FromHex("0000ffff0000ffff"));
  png.replace(29, 4, FromHex("a5a5a5a5"));
  DecodedImage image;
  CHECK(ErrorOf([&] { DecodeImage(png, 0, image); }).code == Code::kData);
  std::string jpeg = Image("gray.jpg");
  const size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, FromHex("ffdcffdc"));
  CHECK(ErrorOf([&] { DecodeImage(jpeg, 0, image); }).message ==
        "JPEG of 65500x65500 pixels; the largest image has 536870912 bytes of them");
}

// These are the values of TensorFlow 2.15's decode_bmp and decode_image, whatever the palette.
TEST_CASE("a BMP of 8 bits is gray, and its palette is not looked at") {
  const auto bmp = [](std::string_view palette) {
    std::string file = FromHex(
        "424d"
        "56000000"
        "00000000"
        "3e000000"
        "28000000"
        "03000000"
        "02000000"
        "0100"
        "0800"
        "00000000"
        "08000000"
        "00000000"
        "00000000"
        "02000000"
        "00000000");
    file += palette;
    return file + FromHex(
                      "05060700"
                      "01020300");
  };
  for (const std::string& palette : {FromHex("00000000"
                                             "ffffff00"),
                                     FromHex("102030004050f000")}) {
    DecodedImage image;
    DecodeImage(bmp(palette), 0, image);
    CHECK(image.channels == 1);
    CHECK(image.pixels == std::vector<uint8_t>{1, 2, 3, 5, 6, 7});
    DecodeImage(bmp(palette), 3, image);
    CHECK(image.pixels ==
          std::vector<uint8_t>{1, 1, 1, 2, 2, 2, 3, 3, 3, 5, 5, 5, 6, 6, 6, 7, 7, 7});
    DecodeImage(bmp(palette), 4, image);
    CHECK(image.pixels == std::vector<uint8_t>{1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255,
                                               5, 5, 5, 255, 6, 6, 6, 255, 7, 7, 7, 255});
    CHECK(ErrorOf([&] { DecodeImage(bmp(palette), 1, image); }).message ==
          "this BMP cannot be read with channels: 1; expected 0, 3 or 4");
  }
}

TEST_CASE("channels that a format has not are refused") {
  DecodedImage image;
  CHECK(ErrorOf([&] { DecodeImage(Image("baseline.jpg"), 4, image); }).message ==
        "this JPEG cannot be read with channels: 4; expected 1 or 3");
  CHECK(ErrorOf([&] { DecodeImage(Image("bgr.bmp"), 1, image); }).message ==
        "this BMP cannot be read with channels: 1; expected 0, 3 or 4");
  CHECK(ErrorOf([&] { DecodeImage(Image("frame.gif"), 1, image); }).code == Code::kData);
  const Thrown crop = ErrorOf([&] {
    DecodeJpeg(Image("baseline.jpg"), {.crop = CropWindow{30, 0, 8, 8}}, image);
  });
  CHECK(crop.message == "the crop window (rows 30+8, columns 0+8) is not within 37x29 pixels");
}

TEST_CASE("what is written as JPEG is read back nearly the same") {
  DecodedImage image;
  DecodeImage(Image("rgb.png"), 3, image);
  const std::string jpeg = EncodeJpeg(image, 95);
  DecodedImage again;
  DecodeImage(jpeg, 0, again);
  CHECK(ShapeOf(again) == ShapeOf(image));
  double difference = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    difference += std::abs(image.pixels[i] - again.pixels[i]);
  }
  CHECK(difference / static_cast<double>(image.pixels.size()) < 12);
}

}  // namespace
}  // namespace tpuest
