#pragma once
// Random tensors: pure functions of (seed, node name or own seeds, global step, element), so that
// replicas, blocks and hosts draw slices of one tensor.
//
// Philox4x32-10 (core/base/random.h). The key's name is Fingerprint64 of the node's name. If the
// attributes seed and seed2 are not both 0, it is their SeedName, so that nodes with the same two
// draw the same numbers, as in a graph of TensorFlow (several draws of one layer differ:
// kDrawOfSeed). Runs that began under an earlier rule (seeds_by_name) use Fingerprint64 of
// "name/seed/seed2" instead. Element i of the tensor of the *global* batch (or of the tensor itself
// if it has no batch axis) draws
//   uniform:   UniformFloat(word i); bfloat16: its upper 7 bits; double: the upper 52 bits of words
//              2i + 1 and 2i
//   integers:  minval + (words 2i + 1 and 2i as 64 bits, modulo maxval - minval)
//   normal:    Box-Muller of words 2i and 2i + 1 in double
//   truncated: the first of the normals of (step with try << 56 added, element i), try = 0, 1, ...,
//              that lies within two standard deviations

#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// `shape`: int32 or int64 [rank]. dtype: float, double or bfloat16.
Value RandomUniform(Value shape, DType dtype, std::string_view name = "");  // in [0, 1)
Value RandomStandardNormal(Value shape, DType dtype, std::string_view name = "");
// Standard normal, redrawn beyond two standard deviations.
Value TruncatedNormal(Value shape, DType dtype, std::string_view name = "");
// Integers in [minval, maxval), which are scalars, int32 or int64.
Value RandomUniformInt(Value shape, Value minval, Value maxval, std::string_view name = "");

// The distributions above with a known shape (initial values).
Value RandomUniform(Graph& graph, const Shape& shape, DType dtype, std::string_view name = "");
Value RandomStandardNormal(Graph& graph, const Shape& shape, DType dtype,
                           std::string_view name = "");
Value TruncatedNormal(Graph& graph, const Shape& shape, DType dtype, std::string_view name = "");

// Returns the name in the key of a random node. `seeds_by_name`: see above.
[[nodiscard]] uint64_t RandomName(const Node& node, bool seeds_by_name);

OpFamily RandomOps();

}  // namespace tpuest::ops
