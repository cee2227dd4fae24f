// Resized images; the numbers are TensorFlow 2.15's, equal to the bit.
#include "core/kernels/resize.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace tpuest {
namespace {

// 10 200 35
// 90   0 255
const std::vector<uint8_t> kPixels = {10, 200, 35, 90, 0, 255};

struct Row {
  ResizeMethod method;
  ResizeGrid grid;
  int64_t height;
  int64_t width;
  std::vector<float> resized;
};
const std::vector<Row> kRows = {
    {ResizeMethod::kNearest,
     ResizeGrid::kHalfPixel,
     3,
     4,
     {10, 200, 200, 35, 90, 0, 0, 255, 90, 0, 0, 255}},
    {ResizeMethod::kNearest, ResizeGrid::kHalfPixel, 1, 2, {90, 255}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kHalfPixel,
     3,
     4,
     {10, 128.75F, 138.125F, 35, 50, 81.25F, 116.875F, 145, 90, 33.75F, 95.625F, 255}},
    {ResizeMethod::kBilinear, ResizeGrid::kHalfPixel, 1, 2, {62.5F, 133.75F}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kHalfPixel,
     3,
     4,
     {-6.1602273F, 148.892822F, 155.887772F, 10.4394312F, 47.3880615F, 78.180542F, 120.304016F,
      147.350754F, 100.93634F, 7.46825409F, 84.7202454F, 284.262024F}},
    {ResizeMethod::kBicubic, ResizeGrid::kHalfPixel, 1, 2, {58.5036507F, 137.554749F}},
    {ResizeMethod::kNearest,
     ResizeGrid::kLegacy,
     3,
     4,
     {10, 10, 200, 35, 10, 10, 200, 35, 90, 90, 0, 255}},
    {ResizeMethod::kNearest, ResizeGrid::kLegacy, 1, 2, {10, 200}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kLegacy,
     3,
     4,
     {10, 152.5F, 117.5F, 35, 63.3333359F, 65.8333282F, 124.166664F, 181.666672F, 90, 22.5F, 127.5F,
      255}},
    {ResizeMethod::kBilinear, ResizeGrid::kLegacy, 1, 2, {10, 117.5F}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kLegacy,
     3,
     4,
     {10, 174.355469F, 135.3125F, 17.5976562F, 64.8430252F, 50.3695335F, 124.172516F, 198.783173F,
      98.8888855F, -26.5993824F, 117.256958F, 311.260864F}},
    {ResizeMethod::kBicubic, ResizeGrid::kLegacy, 1, 2, {10, 135.3125F}},
    {ResizeMethod::kArea,
     ResizeGrid::kLegacy,
     3,
     4,
     {10, 136.666672F, 145, 35, 50.0000038F, 83.3333282F, 115, 145.000015F, 89.9999924F,
      29.9999981F, 84.9999924F, 254.999985F}},
    {ResizeMethod::kArea, ResizeGrid::kLegacy, 1, 2, {66.6666718F, 130}},
    {ResizeMethod::kNearest,
     ResizeGrid::kAlignCorners,
     3,
     4,
     {10, 200, 200, 35, 90, 0, 0, 255, 90, 0, 0, 255}},
    {ResizeMethod::kNearest, ResizeGrid::kAlignCorners, 1, 2, {10, 35}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kAlignCorners,
     3,
     4,
     {10, 136.666672F, 145, 35, 50, 83.3333359F, 115, 145, 90, 30, 85.0000076F, 255}},
    {ResizeMethod::kBilinear, ResizeGrid::kAlignCorners, 1, 2, {10, 35}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kAlignCorners,
     3,
     4,
     {10, 158.58551F, 169.224838F, 35, 50, 79.2769012F, 119.706352F, 145, 90, -0.0317153931F,
      70.1878738F, 255}},
    {ResizeMethod::kBicubic, ResizeGrid::kAlignCorners, 1, 2, {10, 35}},
    {ResizeMethod::kArea,
     ResizeGrid::kAlignCorners,
     3,
     4,
     {10, 105.000015F, 200, 35.0000038F, 10, 105.000015F, 200, 35.0000038F, 90, 44.9999962F, 0,
      255.000031F}},
    {ResizeMethod::kArea, ResizeGrid::kAlignCorners, 1, 2, {75, 145}},
};

struct GradRow {
  ResizeMethod method;
  ResizeGrid grid;
  std::vector<float> dx;
};
// Of dy = 1, 2, ... over 3 x 4.
const std::vector<GradRow> kGradRows = {
    {ResizeMethod::kNearest, ResizeGrid::kHalfPixel, {1, 5, 4, 14, 34, 20}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kHalfPixel,
     {5.375F, 7.1875F, 10.4375F, 16.375F, 17.1874981F, 21.4375F}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kHalfPixel,
     {4.37862539F, 6.73412418F, 9.77880669F, 16.6500435F, 18.4081707F, 22.0502262F}},
    {ResizeMethod::kNearest, ResizeGrid::kLegacy, {14, 10, 12, 19, 11, 12}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kLegacy,
     {3.66666651F, 5.66666651F, 9.33333302F, 15.833333F, 18.333334F, 25.1666679F}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kLegacy,
     {1.82814026F, 4.25550938F, 7.42570496F, 15.2812357F, 21.5023041F, 27.7071095F}},
    {ResizeMethod::kNearest, ResizeGrid::kAlignCorners, {1, 5, 4, 14, 34, 20}},
    {ResizeMethod::kBilinear,
     ResizeGrid::kAlignCorners,
     {5.16666651F, 7.66666603F, 10.166667F, 15.833333F, 18.3333321F, 20.833334F}},
    {ResizeMethod::kBicubic,
     ResizeGrid::kAlignCorners,
     {4.35008907F, 9.16146183F, 9.4884491F, 13.9768991F, 21.9078445F, 19.1152592F}},
};

Resize ResizeOf(const Row& row) {
  return Resize({.method = row.method,
                 .grid = row.grid,
                 .in_height = 2,
                 .in_width = 3,
                 .out_height = row.height,
                 .out_width = row.width,
                 .channels = 1});
}

// Resizes pixels of type T; results as floats.
template <class T>
std::vector<float> Resized(const Row& row) {
  const Resize resize = ResizeOf(row);
  const std::vector<T> image(kPixels.begin(), kPixels.end());
  std::vector<std::byte> scratch(resize.scratch_bytes());
  const auto size = static_cast<size_t>(row.height * row.width);
  if (row.method == ResizeMethod::kNearest) {
    std::vector<T> same(size);
    CHECK(resize.Run(kDTypeOf<T>, image.data(), same.data(), scratch.data()));
    return {same.begin(), same.end()};
  }
  std::vector<float> resized(size);
  CHECK(resize.Run(kDTypeOf<T>, image.data(), resized.data(), scratch.data()));
  return resized;
}

TEST_CASE("an image in another size is TensorFlow's to the bit, of bytes and of floats") {
  for (const Row& row : kRows) {
    INFO("method ", static_cast<int>(row.method), " grid ", static_cast<int>(row.grid), " ",
         row.height, "x", row.width);
    CHECK(Resized<uint8_t>(row) == row.resized);
    CHECK(Resized<float>(row) == row.resized);
    CHECK(Resized<int64_t>(row) == row.resized);
  }
}

TEST_CASE("what a result is made of gets its gradient, TensorFlow's to the bit") {
  for (const GradRow& row : kGradRows) {
    INFO("method ", static_cast<int>(row.method), " grid ", static_cast<int>(row.grid));
    const Resize resize = ResizeOf({row.method, row.grid, 3, 4, {}});
    const std::vector<float> dy = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    std::vector<float> dx(6);
    CHECK(resize.RunGrad(DType::kFloat, dy.data(), dx.data()));
    CHECK(dx == row.dx);
  }
}

TEST_CASE("channels are resized each by itself") {
  const Resize resize({.method = ResizeMethod::kBilinear,
                       .in_height = 1,
                       .in_width = 2,
                       .out_height = 2,
                       .out_width = 4,
                       .channels = 2});
  const std::vector<float> image = {0, 100, 4, 200};
  std::vector<float> resized(16);
  std::vector<std::byte> scratch(resize.scratch_bytes());
  CHECK(resize.Run(DType::kFloat, image.data(), resized.data(), scratch.data()));
  CHECK(resized == std::vector<float>{0, 100, 1, 125, 3, 175, 4, 200,  //
                                      0, 100, 1, 125, 3, 175, 4, 200});
}

TEST_CASE("the gradient of an area is its shares: TensorFlow has none") {
  const Resize resize({.method = ResizeMethod::kArea,
                       .grid = ResizeGrid::kLegacy,
                       .in_height = 1,
                       .in_width = 3,
                       .out_height = 1,
                       .out_width = 2,
                       .channels = 1});
  const std::vector<float> dy = {3, 6};
  std::vector<float> dx(3);
  CHECK(resize.RunGrad(DType::kFloat, dy.data(), dx.data()));
  CHECK(dx == std::vector<float>{2, 3, 4});
}

TEST_CASE("shares of rows and of columns make the whole") {
  for (const Row& row : kRows) {
    INFO("method ", static_cast<int>(row.method), " grid ", static_cast<int>(row.grid));
    const Resize resize = ResizeOf(row);
    std::vector<float> resized;
    for (const std::vector<Resize::Share>& rows : resize.RowShares()) {
      for (const std::vector<Resize::Share>& columns : resize.ColumnShares()) {
        float sum = 0;
        for (const Resize::Share& y : rows) {
          for (const Resize::Share& x : columns) {
            sum += kPixels[static_cast<size_t>(y.pixel * 3 + x.pixel)] * y.weight * x.weight;
          }
        }
        resized.push_back(sum);
      }
    }
    REQUIRE(resized.size() == row.resized.size());
    for (size_t i = 0; i < resized.size(); ++i) {
      CHECK(std::abs(resized[i] - row.resized[i]) < 1e-4F);
    }
  }
}

TEST_CASE("whole numbers have no gradient, and texts are no images") {
  const Resize nearest = ResizeOf({ResizeMethod::kNearest, ResizeGrid::kLegacy, 1, 2, {}});
  CHECK_FALSE(nearest.RunGrad(DType::kInt32, nullptr, nullptr));
  CHECK_FALSE(nearest.Run(DType::kString, nullptr, nullptr, nullptr));
}

}  // namespace
}  // namespace tpuest
