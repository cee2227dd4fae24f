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

// tf.io.parse_example: serialized tf.Examples, string [batch], to one value [batch, ...] a feature,
// in the order given (TensorFlow's is that of the sorted keys). An example that lacks a feature or
// holds another kind or number of values is an Error kData in TensorFlow's words.
std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                std::string_view name = "ParseExample");

// tf.io.decode_raw: string [...] to out_type [..., n], the numbers that the bytes are. n is known
// only where it runs: there a Reshape to known dimensions must follow, at once or after ops that
// keep the shape. Strings of another length are an Error kData.
Value DecodeRaw(Value bytes, DType out_type, bool little_endian = true, std::string_view name = "");

OpFamily ParsingOps();  // ParseExample, ParseExampleV2
OpFamily RawOps();      // DecodeRaw

}  // namespace tpuest::ops
