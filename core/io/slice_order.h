#pragma once
// Reads tables whose rows the hosts of a TPU pod have saved as slices of one tensor (TensorFlow's
// tpu_embedding: slice i comes from host i). Partitioned by div, the hosts' rows follow each other.
// Partitioned by mod, host i of n has rows i, i + n, i + 2n, ..., so the tensor is not in row
// order. Only the number of slices tells the number of hosts.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/io/bundle.h"

namespace tpuest {

// The row at a position of the concatenated slices of `rows` rows that were partitioned by mod over
// `hosts` hosts. The first rows % hosts hosts have one more row than the other hosts.
[[nodiscard]] inline int64_t RowAtPlace(int64_t place, int64_t rows, int64_t hosts) {
  const int64_t few = rows / hosts;
  const int64_t longer = rows % hosts;
  if (place < longer * (few + 1)) return place % (few + 1) * hosts + place / (few + 1);
  const int64_t rest = place - longer * (few + 1);
  return rest % few * hosts + longer + rest / few;
}

// The rows of a tensor joined from such slices, in row order.
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

// Reads a tensor of a checkpoint, in row order if its slices were partitioned by mod.
[[nodiscard]] inline Tensor ReadInRowOrder(const BundleReader& reader, std::string_view name,
                                           bool dealt_by_mod) {
  const Tensor joined = reader.Read(name);
  const int64_t hosts = dealt_by_mod ? reader.RowSlicesOf(name) : 1;
  return hosts == 1 ? joined : InRowOrder(joined, hosts);
}

}  // namespace tpuest
