#include "core/kernels/conv.h"

#include <vector>

#include "core/kernels/isa/activation.h"
#include "core/kernels/onednn.h"

namespace tpuest {
namespace {

using dnnl::memory;
using onednn::Executable;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

memory::desc Image(int64_t batch, int64_t height, int64_t width, int64_t channels, DType dtype) {
  return {{batch, channels, height, width}, onednn::TypeOf(dtype), memory::format_tag::nhwc};
}

memory::desc In(const ConvShape& s, DType dtype) {
  return Image(s.batch, s.height.in, s.width.in, s.channels, dtype);
}

memory::desc Out(const ConvShape& s, DType dtype) {
  return Image(s.batch, s.height.out, s.width.out, s.filters, dtype);
}

memory::dims FilterDims(const ConvShape& s) {
  if (s.groups > 1) {
    return {s.groups, s.filters / s.groups, s.channels / s.groups, s.height.size, s.width.size};
  }
  if (!s.depthwise) return {s.filters, s.channels, s.height.size, s.width.size};
  return {s.channels, s.filters / s.channels, 1, s.height.size, s.width.size};
}

// The filter in TensorFlow's layout: [kh, kw, C, F or M], [kh, kw, C / groups, F].
memory::desc PlainFilter(const ConvShape& s, DType dtype) {
  if (s.groups > 1) {
    const int64_t place = s.channels / s.groups * s.filters;
    const memory::dims strides = {s.filters / s.groups, 1, s.filters, s.width.size * place, place};
    return {FilterDims(s), onednn::TypeOf(dtype), strides};
  }
  const int64_t last = s.depthwise ? s.filters / s.channels : s.filters;
  const int64_t row = s.width.size * s.channels * last;
  const memory::dims strides = s.depthwise ? memory::dims{last, 1, 1, row, s.channels * last}
                                           : memory::dims{1, last, row, s.channels * last};
  return {FilterDims(s), onednn::TypeOf(dtype), strides};
}

memory::desc AnyFilter(const ConvShape& s, DType dtype) {
  return onednn::AnyLayout(FilterDims(s), dtype);
}

memory::desc Bias(const ConvShape& s, DType dtype, bool present) {
  return present ? onednn::RowMajor({s.filters}, dtype) : memory::desc();
}

struct Windows {
  explicit Windows(const ConvShape& s)
      : strides{s.height.stride, s.width.stride},
        // oneDNN's dilation counts the skipped elements.
        dilates{s.height.dilation - 1, s.width.dilation - 1},
        before{s.height.before, s.width.before},
        after{s.height.after, s.width.after} {}
  memory::dims strides;
  memory::dims dilates;
  memory::dims before;
  memory::dims after;
};

dnnl::convolution_forward::primitive_desc ForwardDesc(const dnnl::engine& engine,
                                                      const ConvShape& s, DType dtype, bool bias) {
  const Windows w(s);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_training, kAlgorithm, In(s, dtype), AnyFilter(s, dtype),
      Bias(s, dtype, bias), Out(s, dtype), w.strides, w.dilates, w.before, w.after);
  return {desc, onednn::UserScratchpad(), engine};
}

// A filter in the layout that a primitive reads, and the reorder that makes it.
class PackedFilter {
 public:
  PackedFilter() = default;
  PackedFilter(const dnnl::engine& engine, const memory::desc& plain, const memory::desc& packed,
               int threads)
      : desc_(packed) {
    size_t scratch = 0;
    reorder_ = onednn::Reorder(engine, plain, packed, threads, &scratch);
    scratch_offset_ = onednn::AlignedBytes(desc_.get_size());
    bytes_ = scratch_offset_ + scratch;
  }
  // Bytes of the packed filter and of the reorder's scratch memory after it.
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] std::string Text() const { return onednn::LayoutText(desc_); }
  void Pack(int thread, const void* filter, void* packed) {
    reorder_.Run(thread, {filter, packed, static_cast<char*>(packed) + scratch_offset_});
  }

 private:
  memory::desc desc_;
  Executable reorder_;
  size_t scratch_offset_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

struct ConvForward::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  PackedFilter filter;
  Executable conv;
  size_t scratch = 0;
  bool bias = false;
  ActivationKernel relu = nullptr;
  size_t elements = 0;
};

ConvForward::ConvForward(const ConvShape& shape, DType dtype, bool bias, bool relu, int threads)
    : impl_(std::make_unique<Impl>()) {
  const onednn::SingleThread single;
  const auto pd = ForwardDesc(impl_->engine, shape, dtype, bias);
  impl_->filter =
      PackedFilter(impl_->engine, PlainFilter(shape, dtype), pd.weights_desc(), threads);
  impl_->scratch = pd.scratchpad_desc().get_size();
  impl_->bias = bias;
  std::vector<Executable::Arg> args = {{DNNL_ARG_SRC, pd.src_desc()},
                                       {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                       {DNNL_ARG_DST, pd.dst_desc()},
                                       {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
  if (bias) args.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  impl_->conv = Executable(impl_->engine, dnnl::convolution_forward(pd), args, threads);
  // oneDNN's own ReLU turns NaN into 0, which would hide that a run diverged.
  if (relu) impl_->relu = FindActivation(Activation::kRelu, dtype);
  impl_->elements =
      static_cast<size_t>(shape.batch * shape.height.out * shape.width.out * shape.filters);
}

ConvForward::~ConvForward() = default;
size_t ConvForward::packed_bytes() const { return impl_->filter.bytes(); }
std::string ConvForward::packed_layout() const { return impl_->filter.Text(); }
size_t ConvForward::scratch_bytes() const { return impl_->scratch; }

void ConvForward::Pack(int thread, const void* filter, void* packed) {
  impl_->filter.Pack(thread, filter, packed);
}

void ConvForward::Run(int thread, const void* x, const void* packed, const void* bias, void* y,
                      void* scratch) {
  if (impl_->bias) {
    impl_->conv.Run(thread, {x, packed, y, scratch, bias});
  } else {
    impl_->conv.Run(thread, {x, packed, y, scratch});
  }
  if (impl_->relu != nullptr) impl_->relu(y, y, impl_->elements, 0.0F);
}

struct ConvBackwardData::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  PackedFilter filter;
  Executable conv;
  size_t scratch = 0;
};

ConvBackwardData::ConvBackwardData(const ConvShape& shape, DType dtype, int threads)
    : impl_(std::make_unique<Impl>()) {
  const onednn::SingleThread single;
  const Windows w(shape);
  const dnnl::convolution_backward_data::desc desc(kAlgorithm, In(shape, dtype),
                                                   AnyFilter(shape, dtype), Out(shape, dtype),
                                                   w.strides, w.dilates, w.before, w.after);
  const dnnl::convolution_backward_data::primitive_desc pd(
      desc, onednn::UserScratchpad(), impl_->engine,
      ForwardDesc(impl_->engine, shape, dtype, /*bias=*/false));
  impl_->filter =
      PackedFilter(impl_->engine, PlainFilter(shape, dtype), pd.weights_desc(), threads);
  impl_->scratch = pd.scratchpad_desc().get_size();
  impl_->conv = Executable(impl_->engine, dnnl::convolution_backward_data(pd),
                           {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                            {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                            {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()},
                            {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}},
                           threads);
}

ConvBackwardData::~ConvBackwardData() = default;
size_t ConvBackwardData::packed_bytes() const { return impl_->filter.bytes(); }
std::string ConvBackwardData::packed_layout() const { return impl_->filter.Text(); }
size_t ConvBackwardData::scratch_bytes() const { return impl_->scratch; }

void ConvBackwardData::Pack(int thread, const void* filter, void* packed) {
  impl_->filter.Pack(thread, filter, packed);
}

void ConvBackwardData::Run(int thread, const void* dy, const void* packed, void* dx,
                           void* scratch) {
  impl_->conv.Run(thread, {dy, packed, dx, scratch});
}

struct ConvBackwardFilter::Impl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Executable conv;
  Executable unpack;
  bool bias = false;
  // Scratch memory: the primitive's, then dfilter in oneDNN's layout, then the reorder's.
  size_t filter_offset = 0;
  size_t unpack_offset = 0;
  size_t scratch = 0;
};

ConvBackwardFilter::ConvBackwardFilter(const ConvShape& shape, DType dtype, DType result, bool bias,
                                       int threads)
    : impl_(std::make_unique<Impl>()) {
  const onednn::SingleThread single;
  const Windows w(shape);
  const dnnl::convolution_backward_weights::desc desc(
      kAlgorithm, In(shape, dtype), AnyFilter(shape, DType::kFloat), Bias(shape, result, bias),
      Out(shape, dtype), w.strides, w.dilates, w.before, w.after);
  const dnnl::convolution_backward_weights::primitive_desc pd(
      desc, onednn::UserScratchpad(), impl_->engine,
      ForwardDesc(impl_->engine, shape, dtype, /*bias=*/false));
  impl_->bias = bias;
  std::vector<Executable::Arg> args = {{DNNL_ARG_SRC, pd.src_desc()},
                                       {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                       {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()},
                                       {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}};
  if (bias) args.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  impl_->conv = Executable(impl_->engine, dnnl::convolution_backward_weights(pd), args, threads);
  size_t unpack_scratch = 0;
  impl_->unpack = onednn::Reorder(impl_->engine, pd.diff_weights_desc(), PlainFilter(shape, result),
                                  threads, &unpack_scratch);
  impl_->filter_offset = onednn::AlignedBytes(pd.scratchpad_desc().get_size());
  impl_->unpack_offset =
      impl_->filter_offset + onednn::AlignedBytes(pd.diff_weights_desc().get_size());
  impl_->scratch = impl_->unpack_offset + unpack_scratch;
}

ConvBackwardFilter::~ConvBackwardFilter() = default;
size_t ConvBackwardFilter::scratch_bytes() const { return impl_->scratch; }

void ConvBackwardFilter::Run(int thread, const void* x, const void* dy, void* dfilter, void* dbias,
                             void* scratch) {
  char* const own = static_cast<char*>(scratch);
  char* const packed = own + impl_->filter_offset;
  if (impl_->bias) {
    impl_->conv.Run(thread, {x, dy, packed, own, dbias});
  } else {
    impl_->conv.Run(thread, {x, dy, packed, own});
  }
  impl_->unpack.Run(thread, {packed, dfilter, own + impl_->unpack_offset});
}

}  // namespace tpuest
