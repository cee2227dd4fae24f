#pragma once
// The options of an input_fn: source, parsing, map ops and stages. See core/base/visit.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "data/data_errors.h"
#include "data/fold_options.h"
#include "data/image_options.h"
#include "data/source_options.h"

namespace tpuest {

// ---- parse_example ----------------------------------------------------------------------------

// tf.io.FixedLenFeature: [batch, shape...].
struct FixedLenFeature {
  static constexpr std::string_view kType = "FixedLenFeature";
  std::vector<int64_t> shape;
  std::string dtype;
  std::optional<Raw> default_value;

  template <class V>
  void Visit(V& v) {
    v("shape", shape, {.help = "of one example; [] is a scalar", .required = true});
    v("dtype", dtype,
      {.help = "of the values", .required = true, .values = {"string", "int64", "float32"}});
    v("default_value", default_value,
      {.help = "for records without it: one value for all elements, or all of them"});
  }
};

// tf.io.VarLenFeature. In a batch [batch, K], K the longest list rounded up to a power of two;
// shorter ones are filled with -1 (whole numbers), NaN (floats) or "".
struct VarLenFeature {
  static constexpr std::string_view kType = "VarLenFeature";
  std::string dtype;

  template <class V>
  void Visit(V& v) {
    v("dtype", dtype,
      {.help = "of the values", .required = true, .values = {"string", "int64", "float32"}});
  }
};

using FeatureOptions = std::variant<FixedLenFeature, VarLenFeature>;

// ---- map --------------------------------------------------------------------------------------

// tf.io.decode_raw of a column of one string an example: numbers of shape `shape`.
struct DecodeRawMap : MapColumns {
  static constexpr std::string_view kType = "decode_raw";
  std::string out_type;
  std::vector<int64_t> shape;
  bool little_endian = true;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("out_type", out_type,
      {.help = "element type of the bytes",
       .required = true,
       .values = {"uint8", "int8", "uint16", "int16", "int32", "int64", "bool", "float32",
                  "float64"}});
    v("shape", shape,
      {.help = "of one example; the bytes must fill it", .required = true, .tpuest = true});
    v("little_endian", little_endian, {.help = "byte order of the elements"});
  }
};

// tf.cast; the shape stays.
struct CastMap : MapColumns {
  static constexpr std::string_view kType = "cast";
  std::string dtype;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("dtype", dtype, {.help = "\"float32\", \"bfloat16\", \"int32\", ...", .required = true});
  }
};

// tf.keras.layers.Rescaling: x * scale + offset in x's type; whole numbers become float32 first.
struct RescalingMap : MapColumns {
  static constexpr std::string_view kType = "rescaling";
  double scale = 1;
  double offset = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("scale", scale, {.help = "factor", .required = true});
    v("offset", offset, {.help = "added after scaling"});
  }
};

// tf.reshape of one example; the values stay as they are.
struct ReshapeMap : MapColumns {
  static constexpr std::string_view kType = "reshape";
  std::vector<int64_t> shape;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("shape", shape, {.help = "of one example; one dimension may be -1", .required = true});
  }
};

// tf.one_hot of whole numbers: adds an axis of size `depth` at the end. An index outside 0..depth-1
// gives off_value everywhere.
struct OneHotMap : MapColumns {
  static constexpr std::string_view kType = "one_hot";
  int64_t depth = 0;
  double on_value = 1;
  double off_value = 0;
  std::string dtype = "float32";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("depth", depth, {.help = "number of classes", .required = true});
    v("on_value", on_value, {.help = "at the index"});
    v("off_value", off_value, {.help = "elsewhere"});
    v("dtype", dtype, {.help = "of the result"});
  }
};

// x + value in x's type; whole numbers wrap around.
struct AddMap : MapColumns {
  static constexpr std::string_view kType = "add";
  double value = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("value", value, {.help = "whole for a column of whole numbers", .required = true});
  }
};

// (x - mean) / std, one pair for all values or one for each index of the last axis; whole numbers
// become float32 first.
struct NormalizeMap : MapColumns {
  static constexpr std::string_view kType = "normalize";
  std::vector<double> mean;
  std::vector<double> std;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("mean", mean,
      {.help = "one value, or one for each index of the last axis", .required = true});
    v("std", std, {.help = "as many", .required = true});
  }
};

// The ops of image_options.h work on images [height, width, channels], whose size may be unknown
// until they are decoded.
using MapOptions =
    std::variant<DecodeRawMap, CastMap, RescalingMap, ReshapeMap, OneHotMap, AddMap, NormalizeMap,
                 DecodeImageMap, DecodeRandomCropMap, DecodeCenterCropMap, ResizeMap,
                 CentralCropMap, RandomCropMap, DistortedBoxMap, FlipLeftRightMap, FlipUpDownMap,
                 CropOrPadMap, ResizeWithPadMap, StandardizationMap, RandomBrightnessMap,
                 RandomContrastMap, RandomSaturationMap, RandomHueMap, ConvertImageDtypeMap>;

// ---- stages -----------------------------------------------------------------------------------

// Dataset.shuffle. The order is a pure function of seed and epoch (pipeline/sampler.cpp).
struct ShuffleOptions {
  std::variant<std::string, int64_t> buffer_size = "full";
  std::optional<uint64_t> seed;
  bool reshuffle_each_iteration = true;

  template <class V>
  void Visit(V& v) {
    v("buffer_size", buffer_size,
      {.help = "full: an exact permutation; a number: TensorFlow's window of so many records",
       .required = true,
       .values = {"full"}});
    v("seed", seed, {.help = "null: from tf_random_seed"});
    v("reshuffle_each_iteration", reshuffle_each_iteration,
      {.help = "another order in each epoch"});
  }
};

// The column of each head's labels, by the head's name.
using LabelColumns = std::map<std::string, std::string>;

// An input_fn of a job. Stages run in this order: source, skip and take, parse_example, map, cache,
// shuffle, repeat, batch, prefetch.
struct InputFnOptions {
  SourceOptions source;
  std::map<std::string, FeatureOptions> parse_example;
  std::vector<MapOptions> map;
  std::vector<std::string> features;
  std::optional<std::variant<std::string, LabelColumns>> labels;
  std::optional<std::string> id;
  std::variant<bool, std::string> cache = false;
  std::optional<ShuffleOptions> shuffle;
  std::optional<int64_t> repeat;
  std::optional<bool> drop_remainder;
  std::variant<std::string, int64_t> num_parallel_calls = "auto";
  std::variant<std::string, int64_t> prefetch = "auto";
  // These belong to the whole job (tpuest.data_errors, tpuest.fold); they are no keys of an
  // input_fn.
  DataErrors data_errors;
  std::optional<FoldPart> fold;

  template <class V>
  void Visit(V& v) {
    v("source", source, {.help = "where the records come from", .required = true});
    v("parse_example", parse_example, {.help = "features of the tf.Examples, by name"});
    v("map", map, {.help = "ops on columns, in order"});
    v("features", features,
      {.help = "columns that model_fn gets: one as a tensor, several as a dict; []: all that are "
               "neither labels nor id"});
    v("labels", labels,
      {.help = "column of the labels, or a dict of them: {head's name: column}; null: none"});
    v("id", id,
      {.help = "column carried along, never fed to the model",
       .tpuest = true,
       .changes_bits = false});
    v("cache", cache,
      {.help = "memory: keep generated, inflated and decoded records; plain files are mapped "
               "anyway. image_dataset_from_directory: or a file that keeps its decoded images",
       .changes_bits = false});
    v("shuffle", shuffle, {.help = "null: in the order of the source"});
    v("repeat", repeat, {.help = "passes; -1: for ever; null: -1 in training, else 1"});
    v("drop_remainder", drop_remainder,
      {.help = "leave out a last short batch; null: true in training, else false"});
    v("num_parallel_calls", num_parallel_calls,
      {.help = "input workers; auto: as the machine has",
       .values = {"auto"},
       .changes_bits = false});
    v("prefetch", prefetch,
      {.help = "batches made ahead; auto: two a worker",
       .values = {"auto"},
       .changes_bits = false});
  }
};

}  // namespace tpuest
