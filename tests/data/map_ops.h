#pragma once
// Makes the map ops of a job, each in one line.

#include <string>
#include <utility>
#include <vector>

#include "data/options.h"

namespace tpuest::data {

template <class Op>
Op On(const std::string& in, const std::string& out = "") {
  Op op;
  op.in = in;
  if (!out.empty()) op.out = out;
  return op;
}

inline CastMap CastTo(const std::string& in, const std::string& dtype,
                      const std::string& out = "") {
  auto op = On<CastMap>(in, out);
  op.dtype = dtype;
  return op;
}

inline DecodeRawMap Decode(const std::string& in, const std::string& out, const std::string& type,
                           std::vector<int64_t> shape, bool little_endian = true) {
  auto op = On<DecodeRawMap>(in, out);
  op.out_type = type;
  op.shape = std::move(shape);
  op.little_endian = little_endian;
  return op;
}

inline RescalingMap Rescale(const std::string& in, double scale, double offset = 0) {
  auto op = On<RescalingMap>(in);
  op.scale = scale;
  op.offset = offset;
  return op;
}

}  // namespace tpuest::data
