#pragma once
// The options that all ops under `map` share. See core/base/visit.h.

#include <optional>
#include <string>
#include <string_view>

#include "core/base/visit.h"

namespace tpuest::data {

// The columns that an op reads and writes. `in` is empty if a formula names the columns that it
// reads.
struct MapColumns {
  static constexpr std::string_view kTypeKey = "op";
  std::string in;
  std::optional<std::string> out;

  template <class V>
  void VisitColumns(V& v) {
    v("in", in, {.help = "column to read", .required = true});
    v("out", out, {.help = "column to write; `null` overwrites `in`"});
  }
};

}  // namespace tpuest::data
