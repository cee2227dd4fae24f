#include "core/kernels/gemm.h"

#include <vector>

#include "core/kernels/isa/activation.h"
#include "core/kernels/onednn.h"

namespace tpuest {
namespace {

// Plain layouts: measured on 64 rows, oneDNN is as fast on them as on packed ones, transposed or
// not.
dnnl::memory::desc Matrix(int64_t rows, int64_t columns, bool transposed, DType dtype) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, onednn::TypeOf(dtype), strides};
}

}  // namespace

struct Gemm::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  onednn::Executable matmul;
  size_t scratch = 0;
  bool bias = false;
  ActivationKernel relu = nullptr;
  size_t elements = 0;
};

Gemm::Gemm(const GemmShape& shape, DType dtype, DType result, bool bias, bool relu, int threads)
    : impl_(std::make_unique<Impl>()) {
  const onednn::SingleThread single;
  const auto a = Matrix(shape.rows, shape.inner, shape.transpose_a, dtype);
  const auto b = Matrix(shape.inner, shape.columns, shape.transpose_b, dtype);
  const auto c = Matrix(shape.rows, shape.columns, false, result);
  const auto bias_desc = bias ? onednn::RowMajor({1, shape.columns}, dtype) : dnnl::memory::desc();
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(a, b, bias_desc, c),
                                        onednn::UserScratchpad(), impl_->engine);
  std::vector<onednn::Executable::Arg> args = {{DNNL_ARG_SRC, a},
                                               {DNNL_ARG_WEIGHTS, b},
                                               {DNNL_ARG_DST, c},
                                               {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
  if (bias) args.push_back({DNNL_ARG_BIAS, bias_desc});
  impl_->matmul = onednn::Executable(impl_->engine, dnnl::matmul(pd), args, threads);
  impl_->scratch = pd.scratchpad_desc().get_size();
  impl_->bias = bias;
  // oneDNN's own ReLU turns NaN into 0, which would hide that a run diverged.
  if (relu) impl_->relu = FindActivation(Activation::kRelu, result);
  impl_->elements = static_cast<size_t>(shape.rows * shape.columns);
}

Gemm::~Gemm() = default;
size_t Gemm::scratch_bytes() const { return impl_->scratch; }

void Gemm::Run(int thread, const void* a, const void* b, const void* bias, void* c, void* scratch) {
  if (impl_->bias) {
    impl_->matmul.Run(thread, {a, b, c, scratch, bias});
  } else {
    impl_->matmul.Run(thread, {a, b, c, scratch});
  }
  if (impl_->relu != nullptr) impl_->relu(c, c, impl_->elements, 0.0F);
}

template <class T>
void PlainGemm(const GemmShape& shape, const T* a, const T* b, const T* bias, bool relu, T* c) {
  const auto [rows, inner, columns, transpose_a, transpose_b] = shape;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      T sum = bias == nullptr ? T(0) : bias[j];
      for (int64_t k = 0; k < inner; ++k) {
        sum += (transpose_a ? a[k * rows + i] : a[i * inner + k]) *
               (transpose_b ? b[j * inner + k] : b[k * columns + j]);
      }
      c[i * columns + j] = relu && sum <= T(0) ? T(0) : sum;
    }
  }
}

template void PlainGemm(const GemmShape&, const float*, const float*, const float*, bool, float*);
template void PlainGemm(const GemmShape&, const double*, const double*, const double*, bool,
                        double*);

}  // namespace tpuest
