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
  Shape shape;                  // of one example, known
  Tensor default_value;         // of `shape` and `dtype`; invalid: every example must have it
};

// tf.io.VarLenFeature.
struct VarLenFeature {
  std::string key;
  DType dtype = DType::kInt64;  // float, int64 or string
  int64_t least_width = 0;      // of the batch's lists, filled up
};

// tf.io.parse_example: serialized tf.Examples, string [batch], to one value [batch, ...] a feature,
// in the order given (TensorFlow's is that of the sorted keys). An example that lacks a feature or
// holds another kind or number of values is an Error kData in TensorFlow's words.
std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                std::string_view name = "ParseExample");

// Parses lists of any length too, their values behind those of `features`: [batch, K] each, K the
// longest list of the batch, shorter ones filled with -1 (int64), NaN (float) or "", as
// tf.io.parse_example and SparseToDense of what it gives. Behind them all, one a list: bool
// [batch, K], true where it has a value. K is known only where it runs: here a program that parses
// such lists is compiled for the examples that it reads (FeedSpec::value).
std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                const std::vector<VarLenFeature>& lists,
                                std::string_view name = "ParseExample");

// A tensor of default_value, but for sparse_values at sparse_indices (int64 [n, rank], in rising
// order).
Value SparseToDense(Value sparse_indices, Value output_shape, Value sparse_values,
                    Value default_value, std::string_view name = "");

// tf.io.decode_raw: string [...] to out_type [..., n], the numbers that the bytes are. n is known
// only where it runs: there a Reshape to known dimensions must follow, at once or after ops that
// keep the shape. Strings of another length are an Error kData.
Value DecodeRaw(Value bytes, DType out_type, bool little_endian = true, std::string_view name = "");

OpFamily ParsingOps();       // ParseExample, ParseExampleV2
OpFamily RawOps();           // DecodeRaw
OpFamily SparseOps();        // SparseToDense
OpFamily SparseTensorOps();  // SparseReshape, SparseFillEmptyRows, SparseSlice, SparseReorder

}  // namespace tpuest::ops
