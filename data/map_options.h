#pragma once
// The options of the ops under `map`. See core/base/visit.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/formula_text.h"
#include "core/base/one_of.h"
#include "core/base/visit.h"
#include "data/image_options.h"
#include "data/map_columns.h"

namespace tpuest::data {

// tf.io.decode_raw of a column of one string per example: numbers of shape `shape`.
struct DecodeRawMap : MapColumns {
  static constexpr std::string_view kType = "decode_raw";
  static constexpr std::string_view kSummary = "reads bytes as numbers";
  std::string out_type;
  std::vector<int64_t> shape;
  bool little_endian = true;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("out_type", out_type,
      {.help = "type of the elements",
       .required = true,
       .values = {"uint8", "int8", "uint16", "int16", "int32", "int64", "bool", "float32",
                  "float64"}});
    v("shape", shape,
      {.help = "shape of one example; the bytes must fill it", .required = true, .tpuest = true});
    v("little_endian", little_endian, {.help = "byte order of the elements"});
  }
};

// tf.cast; keeps the shape.
struct CastMap : MapColumns {
  static constexpr std::string_view kType = "cast";
  static constexpr std::string_view kSummary = "converts to another type";
  std::string dtype;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("dtype", dtype,
      {.help = "type of the result: \"float32\", \"bfloat16\", \"int32\", ...", .required = true});
  }
};

// tf.keras.layers.Rescaling: x * scale + offset in x's type; integers are first converted to
// float32.
struct RescalingMap : MapColumns {
  static constexpr std::string_view kType = "rescaling";
  static constexpr std::string_view kSummary = "x * scale + offset";
  double scale = 1;
  double offset = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("scale", scale, {.help = "factor", .required = true});
    v("offset", offset, {.help = "number added after scaling"});
  }
};

// tf.reshape of one example; keeps the values.
struct ReshapeMap : MapColumns {
  static constexpr std::string_view kType = "reshape";
  static constexpr std::string_view kSummary = "changes the shape";
  std::vector<int64_t> shape;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("shape", shape, {.help = "shape of one example; one dimension may be -1", .required = true});
  }
};

// tf.one_hot of integers: adds an axis of size `depth` at the end. An index outside 0..depth-1
// gives off_value everywhere.
struct OneHotMap : MapColumns {
  static constexpr std::string_view kType = "one_hot";
  static constexpr std::string_view kSummary = "encodes a number as a one-hot vector";
  int64_t depth = 0;
  double on_value = 1;
  double off_value = 0;
  std::string dtype = "float32";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("depth", depth, {.help = "number of classes", .required = true});
    v("on_value", on_value, {.help = "value at the index"});
    v("off_value", off_value, {.help = "value elsewhere"});
    v("dtype", dtype, {.help = "type of the result"});
  }
};

// x + value in x's type; integers wrap around.
struct AddMap : MapColumns {
  static constexpr std::string_view kType = "add";
  static constexpr std::string_view kSummary = "adds a number";
  double value = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("value", value, {.help = "number to add; an integer for integer columns", .required = true});
  }
};

// (x - mean) / std, with one pair for all values or one per index of the last axis; integers are
// first converted to float32.
struct NormalizeMap : MapColumns {
  static constexpr std::string_view kType = "normalize";
  static constexpr std::string_view kSummary =
      "subtracts a mean and divides by a standard deviation";
  std::vector<double> mean;
  std::vector<double> std;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("mean", mean,
      {.help = "mean: one value, or one per index of the last axis", .required = true});
    v("std", std, {.help = "standard deviation: as many values as the mean", .required = true});
  }
};

// A column that a formula computes from other columns of one example, by their names or as
// features['name'] (core/nn/formula/formula.h). It cannot use columns of lists of any length.
struct ExprMap : MapColumns {
  static constexpr std::string_view kType = "expr";
  static constexpr std::string_view kSummary = "a formula of the features";
  Formula value;

  template <class V>
  void Visit(V& v) {
    v("out", out, {.help = "column to write", .required = true});
    v("value", value, {.help = "formula of the columns of an example", .required = true});
  }
};

// The ops of image_options.h take images [height, width, channels], whose size may be unknown until
// they are decoded.
using MapOptionsTypes =
    std::variant<DecodeRawMap, CastMap, RescalingMap, ReshapeMap, OneHotMap, AddMap, NormalizeMap,
                 ExprMap, DecodeImageMap, DecodeRandomCropMap, DecodeCenterCropMap, ResizeMap,
                 CentralCropMap, RandomCropMap, DistortedBoxMap, FlipLeftRightMap, FlipUpDownMap,
                 CropOrPadMap, ResizeWithPadMap, StandardizationMap, RandomBrightnessMap,
                 RandomContrastMap, RandomSaturationMap, RandomHueMap, ConvertImageDtypeMap>;
using MapOptions = OneOf<MapOptionsTypes>;

}  // namespace tpuest::data

namespace tpuest {
extern template class OneOf<data::MapOptionsTypes>;
}  // namespace tpuest
