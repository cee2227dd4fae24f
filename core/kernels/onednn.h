#pragma once
// All use of oneDNN goes through here: a primitive is created once, with one thread, and has its
// memory objects once a thread that runs it. For .cpp files of this folder.

#include <cstddef>
#include <dnnl.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest::onednn {

// While it lives, oneDNN in this thread plans for one thread: other counts give other bits.
class SingleThread {
 public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int saved_;
};

// float and bfloat16 only: oneDNN 2.6 has no double.
[[nodiscard]] dnnl::memory::data_type TypeOf(DType dtype);
// Dense, row-major.
[[nodiscard]] dnnl::memory::desc RowMajor(const dnnl::memory::dims& dims, DType dtype);
[[nodiscard]] dnnl::memory::desc AnyLayout(const dnnl::memory::dims& dims, DType dtype);
// Says how the elements lie: equal texts are equal layouts.
[[nodiscard]] std::string LayoutText(const dnnl::memory::desc& desc);
[[nodiscard]] dnnl::primitive_attr UserScratchpad();
[[nodiscard]] size_t AlignedBytes(size_t bytes);

// A primitive and where its arguments are.
class Executable {
 public:
  struct Arg {
    int id = 0;  // DNNL_ARG_SRC, ...
    dnnl::memory::desc desc;
  };

  Executable() = default;
  Executable(const dnnl::engine& engine, dnnl::primitive primitive, const std::vector<Arg>& args,
             int threads);
  // Pointers in the order of `args`. A thread number is used by one thread at a time.
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
