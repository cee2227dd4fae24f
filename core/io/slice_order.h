#pragma once
// Tables that the hosts of a TPU pod have saved, each the rows that it had, as slices of one tensor
// (TensorFlow's tpu_embedding: slice i is host i's). Dealt out by div the hosts' rows follow each
// other; by mod host i of n has rows i, i + n, i + 2n, ..., and so the tensor is not in the order
// of its rows. How many hosts there were stands nowhere but in the number of slices.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/io/bundle.h"

namespace tpuest {

// The row that stands at a place of the slices, one behind the other, of `rows` rows that were
// dealt out by mod to `hosts`. The first rows % hosts hosts have a row more than the others.
[[nodiscard]] inline int64_t RowAtPlace(int64_t place, int64_t rows, int64_t hosts) {
  const int64_t few = rows / hosts;
  const int64_t longer = rows % hosts;
  if (place < longer * (few + 1)) return place % (few + 1) * hosts + place / (few + 1);
  const int64_t rest = place - longer * (few + 1);
  return rest % few * hosts + longer + rest / few;
}

// The rows of a joined tensor of such slices in their order.
[[nodiscard]] inline Tensor InRowOrder(const Tensor& joined, int64_t hosts) {
  const int64_t rows = joined.shape().dim(0);
  Tensor ordered(joined.dtype(), joined.shape());
  if (joined.bytes() == 0) return ordered;
  const size_t bytes = joined.bytes() / static_cast<size_t>(rows);
  for (int64_t place = 0; place < rows; ++place) {
    const auto row = static_cast<size_t>(RowAtPlace(place, rows, hosts));
    std::memcpy(static_cast<char*>(ordered.raw()) + row * bytes,
                static_cast<const char*>(joined.raw()) + static_cast<size_t>(place) * bytes, bytes);
  }
  return ordered;
}

// A tensor of a checkpoint, in the order of its rows where its slices were dealt out by mod.
[[nodiscard]] inline Tensor ReadInRowOrder(const BundleReader& reader, std::string_view name,
                                           bool dealt_by_mod) {
  const Tensor joined = reader.Read(name);
  const int64_t hosts = dealt_by_mod ? reader.RowSlicesOf(name) : 1;
  return hosts == 1 ? joined : InRowOrder(joined, hosts);
}

}  // namespace tpuest
