#pragma once
// All calls of oneDNN go through here. A primitive is created once, for one thread, and has its own
// memory objects for each thread that runs it. For .cpp files of this folder.

#include <cstddef>
#include <dnnl.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest::onednn {

// While this object lives, oneDNN plans for one thread in the current thread, because other counts
// give other bits.
class SingleThread {
 public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int saved_;
};

// Supports only float and bfloat16: oneDNN 2.6 has no double.
[[nodiscard]] dnnl::memory::data_type TypeOf(DType dtype);
// Dense, row-major.
[[nodiscard]] dnnl::memory::desc RowMajor(const dnnl::memory::dims& dims, DType dtype);
[[nodiscard]] dnnl::memory::desc AnyLayout(const dnnl::memory::dims& dims, DType dtype);
// Describes the layout of the elements; equal strings mean equal layouts.
[[nodiscard]] std::string LayoutText(const dnnl::memory::desc& desc);
[[nodiscard]] dnnl::primitive_attr UserScratchpad();
[[nodiscard]] size_t AlignedBytes(size_t bytes);

// A primitive and the layout of its arguments.
class Executable {
 public:
  struct Arg {
    int id = 0;  // DNNL_ARG_SRC, ...
    dnnl::memory::desc desc;
  };

  Executable() = default;
  Executable(const dnnl::engine& engine, dnnl::primitive primitive, const std::vector<Arg>& args,
             int threads);
  // Takes pointers in the order of `args`. Only one thread at a time may use a thread number.
  void Run(int thread, std::initializer_list<const void*> pointers);

 private:
  struct PerThread {
    dnnl::stream stream;
    std::vector<dnnl::memory> memories;
    std::vector<const void*> pointers;
    std::vector<dnnl_exec_arg_t> args;
  };
  dnnl::primitive primitive_;
  std::vector<PerThread> threads_;
};

// Copies between layouts and types.
[[nodiscard]] Executable Reorder(const dnnl::engine& engine, const dnnl::memory::desc& from,
                                 const dnnl::memory::desc& to, int threads, size_t* scratch_bytes);

}  // namespace tpuest::onednn
