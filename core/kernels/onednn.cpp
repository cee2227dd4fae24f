#include "core/kernels/onednn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include "core/base/error.h"
#include "core/kernels/isa/cpu_isa.h"

namespace tpuest::onednn {

SingleThread::SingleThread() : saved_(omp_get_max_threads()) { omp_set_num_threads(1); }
SingleThread::~SingleThread() { omp_set_num_threads(saved_); }

dnnl::memory::data_type TypeOf(DType dtype) {
  Check(dtype == DType::kFloat || dtype == DType::kBfloat16, "oneDNN has no {}", NameOf(dtype));
  if (dtype == DType::kBfloat16) NeedBfloat16();
  return dtype == DType::kFloat ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

dnnl::memory::desc RowMajor(const dnnl::memory::dims& dims, DType dtype) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return {dims, TypeOf(dtype), strides};
}

dnnl::memory::desc AnyLayout(const dnnl::memory::dims& dims, DType dtype) {
  return {dims, TypeOf(dtype), dnnl::memory::format_tag::any};
}

std::string LayoutText(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  const auto list = [](const dnnl_dim_t* values, int n) {
    return fmt::format("{}", fmt::join(values, values + n, ","));
  };
  return fmt::format("{}:{}/{}/{}/{}x{}/{}:{}", static_cast<int>(d.data_type),
                     list(d.dims, d.ndims), list(d.padded_dims, d.ndims),
                     list(blocking.strides, d.ndims),
                     list(blocking.inner_blks, blocking.inner_nblks),
                     list(blocking.inner_idxs, blocking.inner_nblks),
                     static_cast<int>(d.format_kind), d.extra.flags);
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

size_t AlignedBytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

Executable::Executable(const dnnl::engine& engine, dnnl::primitive primitive,
                       const std::vector<Arg>& args, int threads)
    : primitive_(std::move(primitive)) {
  for (int i = 0; i < threads; ++i) {
    PerThread& thread = threads_.emplace_back();
    thread.stream = dnnl::stream(engine);
    for (const Arg& arg : args) {
      thread.memories.emplace_back(arg.desc, engine, nullptr);
      thread.pointers.push_back(nullptr);
      thread.args.push_back({arg.id, thread.memories.back().get()});
    }
  }
}

void Executable::Run(int thread, std::initializer_list<const void*> pointers) {
  PerThread& own = threads_[static_cast<size_t>(thread)];
  Check(pointers.size() == own.memories.size());
  size_t i = 0;
  for (const void* const pointer : pointers) {
    if (own.pointers[i] != pointer) {
      own.pointers[i] = pointer;
      own.memories[i].set_data_handle(const_cast<void*>(pointer));
    }
    ++i;
  }
  // The C function takes the arguments directly; the C++ one builds a map and a vector in every
  // call.
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), own.stream.get(), static_cast<int>(own.args.size()),
                             own.args.data()),
      "a oneDNN primitive did not run");
}

Executable Reorder(const dnnl::engine& engine, const dnnl::memory::desc& from,
                   const dnnl::memory::desc& to, int threads, size_t* scratch_bytes) {
  const SingleThread single;
  const dnnl::reorder::primitive_desc pd(engine, from, engine, to, UserScratchpad());
  *scratch_bytes = pd.scratchpad_desc().get_size();
  return {engine,
          dnnl::reorder(pd),
          {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc()}},
          threads};
}

}  // namespace tpuest::onednn
