// Resized and transformed images; the numbers are TensorFlow's.

#include <fmt/format.h>

#include <array>

#include "core/graph/gradient.h"
#include "core/ops/array.h"
#include "core/ops/decode_image.h"
#include "core/ops/elementwise.h"
#include "core/ops/image.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;
using Resizer = Value (*)(Value, int64_t, int64_t, const ops::ResizeOptions&, std::string_view);

Value Area(Value x, int64_t height, int64_t width, const ops::ResizeOptions& /*of others*/,
           std::string_view name) {
  return ops::ResizeArea(x, height, width, name);
}

// 10 200  35
// 90   0 255
Tensor SmallImage() { return Floats({1, 2, 3, 1}, {10, 200, 35, 90, 0, 255}); }

// Resizes to 3 x 4. Results are float32 for any image, too coarse for numeric gradients, so the
// gradients have their own rows with TensorFlow's numbers.
OpCase Resized(const std::string& op, std::string claim, Resizer resize,
               const ops::ResizeOptions& options, const std::vector<float>& expected) {
  return {.op = op,
          .claim = std::move(claim),
          .inputs = {SmallImage()},
          .build =
              [=](Graph&, const In& in) {
                return Built{{resize(in[0], 3, 4, options, "")}, {}};
              },
          .expected = {Floats({1, 3, 4, 1}, expected)},
          .tolerance = 0,
          .batch = {0},
          .numeric_gradient = false};
}

// The gradient of an image that is resized to 3 x 4, for a given dy.
OpCase ResizedGrad(const std::string& op, std::string claim, Resizer resize,
                   const ops::ResizeOptions& options, const std::vector<float>& expected) {
  const Tensor dy = Floats({1, 3, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return {.op = op,
          .claim = std::move(claim),
          .inputs = {SmallImage(), dy},
          .build =
              [=](Graph&, const In& in) {
                const Value y = resize(in[0], 3, 4, options, "");
                const Value x[] = {in[0]};
                return Built{{ToDense(Gradients(y, x, ops::Cast(in[1], y.dtype()))[0])}, {}};
              },
          .expected = {Floats({1, 2, 3, 1}, expected)},
          .tolerance = 1e-6,
          .batch = {0, 1},
          .numeric_gradient = false};
}

std::vector<OpCase> ResizeCases() {
  const ops::ResizeOptions half;
  const ops::ResizeOptions legacy{.half_pixel_centers = false};
  const ops::ResizeOptions corners{.align_corners = true, .half_pixel_centers = false};
  return {
      Resized("ResizeNearestNeighbor", "half pixels", ops::ResizeNearestNeighbor, half,
              {10, 200, 200, 35, 90, 0, 0, 255, 90, 0, 0, 255}),
      ResizedGrad("ResizeNearestNeighborGrad", "half pixels", ops::ResizeNearestNeighbor, half,
                  {1, 5, 4, 14, 34, 20}),
      Resized("ResizeNearestNeighbor", "as in TensorFlow 1", ops::ResizeNearestNeighbor, legacy,
              {10, 10, 200, 35, 10, 10, 200, 35, 90, 90, 0, 255}),
      ResizedGrad("ResizeNearestNeighborGrad", "as in TensorFlow 1", ops::ResizeNearestNeighbor,
                  legacy, {14, 10, 12, 19, 11, 12}),
      Resized("ResizeNearestNeighbor", "corners on corners", ops::ResizeNearestNeighbor, corners,
              {10, 200, 200, 35, 90, 0, 0, 255, 90, 0, 0, 255}),
      ResizedGrad("ResizeNearestNeighborGrad", "corners on corners", ops::ResizeNearestNeighbor,
                  corners, {1, 5, 4, 14, 34, 20}),
      Resized("ResizeBilinear", "half pixels", ops::ResizeBilinear, half,
              {10, 128.75F, 138.125F, 35, 50, 81.25F, 116.875F, 145, 90, 33.75F, 95.625F, 255}),
      ResizedGrad("ResizeBilinearGrad", "half pixels", ops::ResizeBilinear, half,
                  {5.375F, 7.1875F, 10.4375F, 16.375F, 17.1874981F, 21.4375F}),
      Resized("ResizeBilinear", "as in TensorFlow 1", ops::ResizeBilinear, legacy,
              {10, 152.5F, 117.5F, 35, 63.3333359F, 65.8333282F, 124.166664F, 181.666672F, 90,
               22.5F, 127.5F, 255}),
      ResizedGrad("ResizeBilinearGrad", "as in TensorFlow 1", ops::ResizeBilinear, legacy,
                  {3.66666651F, 5.66666651F, 9.33333302F, 15.833333F, 18.333334F, 25.1666679F}),
      Resized("ResizeBilinear", "corners on corners", ops::ResizeBilinear, corners,
              {10, 136.666672F, 145, 35, 50, 83.3333359F, 115, 145, 90, 30, 85.0000076F, 255}),
      ResizedGrad("ResizeBilinearGrad", "corners on corners", ops::ResizeBilinear, corners,
                  {5.16666651F, 7.66666603F, 10.166667F, 15.833333F, 18.3333321F, 20.833334F}),
      Resized("ResizeBicubic", "half pixels", ops::ResizeBicubic, half,
              {-6.1602273F, 148.892822F, 155.887772F, 10.4394312F, 47.3880615F, 78.180542F,
               120.304016F, 147.350754F, 100.93634F, 7.46825409F, 84.7202454F, 284.262024F}),
      ResizedGrad("ResizeBicubicGrad", "half pixels", ops::ResizeBicubic, half,
                  {4.37862539F, 6.73412418F, 9.77880669F, 16.6500435F, 18.4081707F, 22.0502262F}),
      Resized("ResizeBicubic", "as in TensorFlow 1", ops::ResizeBicubic, legacy,
              {10, 174.355469F, 135.3125F, 17.5976562F, 64.8430252F, 50.3695335F, 124.172516F,
               198.783173F, 98.8888855F, -26.5993824F, 117.256958F, 311.260864F}),
      ResizedGrad("ResizeBicubicGrad", "as in TensorFlow 1", ops::ResizeBicubic, legacy,
                  {1.82814026F, 4.25550938F, 7.42570496F, 15.2812357F, 21.5023041F, 27.7071095F}),
      Resized("ResizeBicubic", "corners on corners", ops::ResizeBicubic, corners,
              {10, 158.58551F, 169.224838F, 35, 50, 79.2769012F, 119.706352F, 145, 90,
               -0.0317153931F, 70.1878738F, 255}),
      ResizedGrad("ResizeBicubicGrad", "corners on corners", ops::ResizeBicubic, corners,
                  {4.35008907F, 9.16146183F, 9.4884491F, 13.9768991F, 21.9078445F, 19.1152592F}),
      Resized("ResizeArea", "", Area, legacy,
              {10, 136.666672F, 145, 35, 50.0000038F, 83.3333282F, 115, 145.000015F, 89.9999924F,
               29.9999981F, 84.9999924F, 254.999985F}),
  };
}

// An image of 4 x 5 with two channels, under one transform for all images or one per image.
OpCase Projected(std::string claim, const ops::ProjectiveOptions& options,
                 const std::vector<float>& transform) {
  return {.op = "ImageProjectiveTransformV3",
          .claim = std::move(claim),
          .inputs = {Wave({2, 4, 5, 2}, 3)},
          .build =
              [=](Graph& graph, const In& in) {
                const Value one = graph.Constant(Floats({1, 8}, transform));
                return Built{{ops::ImageProjectiveTransformV3(in[0], one, 3, 6, options)}, {}};
              },
          .batch = {0}};
}

// Shifts each image by whole pixels, which are an input.
OpCase Moved() {
  return {.op = "ImageProjectiveTransformV3",
          .claim = "each image by its own transform",
          .inputs = {Floats({2, 2, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                     Ints({2, 8}, {1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0})},
          .build =
              [](Graph&, const In& in) {
                const Value each = ops::Cast(in[1], DType::kFloat);
                return Built{{ops::ImageProjectiveTransformV3(in[0], each, 2, 3, {})}, {}};
              },
          .expected = {Floats({2, 2, 3, 1}, {2, 3, 3, 5, 6, 6, 7, 8, 9, 7, 8, 9})},
          .batch = {0, 1}};
}

// An uncompressed BMP file of one row of pixels, blue, green, red each.
std::string OneRowBmp(const std::vector<std::array<uint8_t, 3>>& pixels) {
  const auto number = [](uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  std::string row;
  for (const auto& pixel : pixels) row.append(pixel.begin(), pixel.end());
  row.resize((row.size() + 3) / 4 * 4);
  const auto size = static_cast<uint32_t>(row.size());
  return "BM" + number(54 + size, 4) + number(0, 4) + number(54, 4) + number(40, 4) +
         number(static_cast<uint32_t>(pixels.size()), 4) + number(1, 4) + number(1, 2) +
         number(24, 2) + number(0, 4) + number(size, 4) + std::string(16, '\0') + row;
}

// Two files, black to (red 100, green 200, blue 40) and one pixel, as rows of four pixels.
OpCase Decoded(const std::string& interpolation, const Tensor& expected) {
  return {.op = "MapDefun",
          .claim = "image files, " + interpolation,
          .inputs = {Tensor::Strings(
              {2}, {OneRowBmp({{0, 0, 0}, {40, 200, 100}}), OneRowBmp({{3, 2, 1}})})},
          .build =
              [interpolation](Graph&, const In& in) {
                const ops::DecodeImagesOptions how{1, 4, 3, interpolation};
                return Built{{ops::DecodeImages(in[0], how)}, {}};
              },
          .expected = {expected}};
}

std::vector<OpCase> DecodedCases() {
  const Tensor near = Tensor::Of<uint8_t>(
      {2, 1, 4, 3},
      {0, 0, 0, 0, 0, 0, 100, 200, 40, 100, 200, 40, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  return {
      Decoded("bilinear", Floats({2, 1, 4, 3}, {0, 0, 0, 25, 50, 10, 75, 150, 30, 100, 200, 40,
                                                1, 2, 3, 1,  2,  3,  1,  2,   3,  1,   2,   3})),
      Decoded("area", near.Cast(DType::kFloat)), Decoded("nearest", near)};
}

}  // namespace

std::vector<OpCase> ImageCases() {
  std::vector<OpCase> all = ResizeCases();
  all.push_back(Moved());
  for (OpCase& op_case : DecodedCases()) all.push_back(std::move(op_case));
  // A rotation by 0.5 about the middle, with a scale of 1.3; and a transform that also tilts the
  // image.
  const std::vector<float> turn = {1.1409F, -0.6233F, 0.6531F, 0.6233F, 1.1409F, -1.4580F, 0, 0};
  const std::vector<float> tilt = {0.9F, 0.3F, -0.7F, -0.2F, 1.2F, 0.4F, 0.05F, -0.04F};
  for (const char* const mode : {"REFLECT", "WRAP", "CONSTANT", "NEAREST"}) {
    for (const char* const interpolation : {"BILINEAR", "NEAREST"}) {
      const ops::ProjectiveOptions how{interpolation, mode, 7};
      const std::string claim = fmt::format("{}, {}", mode, interpolation);
      all.push_back(Projected(claim, how, turn));
      all.push_back(Projected(claim + ", tilted", how, tilt));
    }
  }
  return all;
}

}  // namespace tpuest
