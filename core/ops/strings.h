#pragma once
// Ops on strings: host ops, never on the device.

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Formats a number as printf does: integers with %d; floating numbers with %f, %e (scientific) or
// %g (shorter of the two), with `precision` digits unless it is -1, padded to `width` with `fill`:
// " " or "0".
struct AsStringOptions {
  int precision = -1;
  bool scientific = false;
  bool shortest = false;
  int width = -1;
  std::string_view fill = "";
};
Value AsString(Value x, const AsStringOptions& options = {}, std::string_view name = "");
// Fingerprint64(x) modulo num_buckets, int64.
Value StringToHashBucketFast(Value x, int64_t num_buckets, std::string_view name = "");

// Hash64(x) modulo num_buckets, int64: tf.strings.to_hash_bucket, a different hash from the fast
// one.
Value StringToHashBucket(Value x, int64_t num_buckets, std::string_view name = "");

// SipHash-2-4(x) with a key of two numbers, modulo num_buckets, int64.
Value StringToHashBucketStrong(Value x, int64_t num_buckets, const std::vector<int64_t>& key,
                               std::string_view name = "");

// The key that TensorFlow's crosses use by default.
inline constexpr uint64_t kCrossHashKey = 0xDECAFCAFFE;
// tf.sparse.cross_hashed of dense inputs, string or integer [B, Ki] or [B]: int64 [B, product of
// Ki], all combinations of a row's values, with the last input changing fastest. A cross is
// FingerprintCat64 from `hash_key` over the inputs in their order, modulo num_buckets; integers
// stand for themselves, strings for their Fingerprint64. The dimensions may be unknown.
Value SparseCrossHashed(std::vector<Value> dense, int64_t num_buckets,
                        uint64_t hash_key = kCrossHashKey, std::string_view name = "");

OpFamily StringOps();  // AsString, and the three hashes
OpFamily CrossOps();   // SparseCross

}  // namespace tpuest::ops
