#pragma once
// Ops on strings: host ops, never on the device.

#include <cstdint>
#include <string_view>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The number as printf writes it: %d; floating %f, %e (scientific) or the shorter of the two (%g),
// with `precision` digits where it is not -1, at least `width` wide, filled with `fill`: " " or
// "0".
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

OpFamily StringOps();

}  // namespace tpuest::ops
