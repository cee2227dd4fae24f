#pragma once
// Features of records, as tf.io.parse_example has them. See core/base/visit.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"

namespace tpuest {

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

}  // namespace tpuest
