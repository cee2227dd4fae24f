#pragma once
// Ops that turn bytes into values: tf.Examples and raw numbers. Host ops, never on the device.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// tf.io.FixedLenFeature.
struct DenseFeature {
  std::string key;
  DType dtype = DType::kFloat;  // float, int64 or string
  Shape shape;                  // of one example; must be known
  Tensor default_value;  // of `shape` and `dtype`; if invalid, every example must have the feature
};

// tf.io.VarLenFeature.
struct VarLenFeature {
  std::string key;
  DType dtype = DType::kInt64;  // float, int64 or string
  int64_t least_width = 0;      // the batch's lists are padded to at least this width
};

// tf.io.parse_example: serialized tf.Examples, string [batch], to one value [batch, ...] per
// feature, in the given order (TensorFlow sorts by key). An example that lacks a feature, or has
// another kind or number of values, is an Error kData in TensorFlow's words.
std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                std::string_view name = "ParseExample");

// Also parses lists of any length; their values follow those of `features`: [batch, K] each, where
// K is the longest list of the batch and shorter ones are padded with -1 (int64), NaN (float) or
// "", as tf.io.parse_example and SparseToDense give them. Then follows one bool [batch, K] per
// list, true where it has a value. K is known only at run time: tpuest compiles such a program for
// the examples that it reads (FeedSpec::value).
std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                const std::vector<VarLenFeature>& lists,
                                std::string_view name = "ParseExample");

// Returns a tensor of default_value, except for sparse_values at sparse_indices (int64 [n, rank],
// in increasing order).
Value SparseToDense(Value sparse_indices, Value output_shape, Value sparse_values,
                    Value default_value, std::string_view name = "");

// tf.io.decode_raw: string [...] to out_type [..., n], the numbers in the bytes. n is known only at
// run time: a Reshape to known dimensions must follow, directly or after ops that keep the shape.
// Strings of another length are an Error kData.
Value DecodeRaw(Value bytes, DType out_type, bool little_endian = true, std::string_view name = "");

OpFamily ParsingOps();       // ParseExample, ParseExampleV2
OpFamily RawOps();           // DecodeRaw
OpFamily SparseOps();        // SparseToDense
OpFamily SparseTensorOps();  // SparseReshape, SparseFillEmptyRows, SparseSlice, SparseReorder

}  // namespace tpuest::ops
