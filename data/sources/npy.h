#pragma once
// Arrays as NumPy writes them (numpy.lib.format): "\x93NUMPY", the version in two bytes, the
// header's length (uint16, uint32 from version 2 on), the header, which is a Python dict of descr,
// fortran_order and shape, and the elements.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/shape.h"
#include "core/tensor/tensor.h"

namespace tpuest::data {

// The elements in the machine's byte order, row-major.
struct NpyArray {
  DType dtype = DType::kInvalid;
  Shape shape;                    // at least one axis
  const void* data = nullptr;     // texts are std::string_view
  std::vector<uint64_t> numbers;  // owns the elements if `data` is not within the bytes
  std::shared_ptr<std::string> bytes_of_texts;
  std::vector<std::string_view> texts;
};

// `bytes` outlive the array; `name` begins every message. Throws kData for an invalid file and for
// unsupported types (objects, dates, complex numbers).
[[nodiscard]] NpyArray ReadNpy(std::string_view bytes, const std::string& name);

}  // namespace tpuest::data
