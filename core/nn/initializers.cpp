#include "core/nn/initializers.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/random.h"
#include "core/tensor/limits.h"

namespace tpuest::nn {
namespace {

// The standard deviation of a standard normal that is cut at two of its own: Keras divides by it.
constexpr double kTruncatedStddev = 0.87962566103423978;

struct Fans {
  double in = 1;
  double out = 1;
};

// The fans of a kernel [window..., inputs, outputs], as Keras counts them.
Fans FansOf(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) {
    const auto size = static_cast<double>(shape.dim(0));
    return {size, size};
  }
  double window = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) window *= static_cast<double>(shape.dim(i));
  return {window * static_cast<double>(shape.dim(-2)), window * static_cast<double>(shape.dim(-1))};
}

struct Target {
  Graph& graph;
  DType dtype;
  const Shape& shape;
};

// One number everywhere. A large tensor is not kept in the graph: a node fills it, as tf.zeros has
// it from this size on.
Value Filled(const Target& v, double value, std::string_view name) {
  constexpr int64_t kFewest = 1000;
  if (v.shape.elements() < kFewest) return ops::Full(v.graph, v.dtype, v.shape, value, name);
  const Tensor dims = Tensor::Of<int64_t>({v.shape.rank()}, v.shape.dims());
  return ops::Fill(v.graph.Constant(dims, "shape_as_tensor"), v.graph.ScalarOf(v.dtype, value),
                   name);
}

Value Initial(const ZerosInitializer& /*init*/, const Target& v) { return Filled(v, 0, "zeros"); }

Value Initial(const OnesInitializer& /*init*/, const Target& v) { return Filled(v, 1, "ones"); }

Value Initial(const ConstantInitializer& init, const Target& v) {
  return Filled(v, init.value, "Const");
}

Value Initial(const RandomUniformInitializer& init, const Target& v) {
  const Value uniform = ops::RandomUniform(v.graph, v.shape, v.dtype, "random_uniform");
  return ops::AddV2(ops::Mul(uniform, init.maxval - init.minval), init.minval);
}

Value Initial(const RandomNormalInitializer& init, const Target& v) {
  const Value normal = ops::RandomStandardNormal(v.graph, v.shape, v.dtype, "random_normal");
  return ops::AddV2(ops::Mul(normal, init.stddev), init.mean);
}

Value Initial(const TruncatedNormalInitializer& init, const Target& v) {
  const Value normal = ops::TruncatedNormal(v.graph, v.shape, v.dtype, "truncated_normal");
  return ops::AddV2(ops::Mul(normal, init.stddev), init.mean);
}

Value Initial(const VarianceScaling& init, const Target& v) {
  const Fans fans = FansOf(v.shape);
  const double n = init.mode == "fan_in"    ? fans.in
                   : init.mode == "fan_out" ? fans.out
                                            : (fans.in + fans.out) / 2;
  const double variance = init.scale / std::max(1.0, n);
  if (init.distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return Initial(RandomUniformInitializer{.minval = -limit, .maxval = limit}, v);
  }
  if (init.distribution == "untruncated_normal") {
    return Initial(RandomNormalInitializer{.stddev = std::sqrt(variance)}, v);
  }
  return Initial(TruncatedNormalInitializer{.stddev = std::sqrt(variance) / kTruncatedStddev}, v);
}

Value Initial(const GlorotUniform& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 1, .mode = "fan_avg", .distribution = "uniform"}, v);
}

Value Initial(const GlorotNormal& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 1, .mode = "fan_avg"}, v);
}

Value Initial(const HeUniform& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 2, .distribution = "uniform"}, v);
}

Value Initial(const HeNormal& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 2}, v);
}

Value Initial(const LecunUniform& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 1, .distribution = "uniform"}, v);
}

Value Initial(const LecunNormal& /*init*/, const Target& v) {
  return Initial(VarianceScaling{.scale = 1}, v);
}

}  // namespace

Value InitialValue(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                   const Initializer& initializer) {
  const NameScope scope(graph, name + "/Initializer");
  const Target variable{graph, dtype, shape};
  try {
    if (!IsCountable(shape)) throw std::bad_alloc();
    return std::visit([&](const auto& init) { return Initial(init, variable); }, initializer);
  } catch (const std::bad_alloc&) {
    throw Error(Code::kResource,
                fmt::format("out of memory for the variable '{}', {} {}", name, NameOf(dtype),
                            shape.Text()),
                "make the variable smaller");
  }
}

}  // namespace tpuest::nn
