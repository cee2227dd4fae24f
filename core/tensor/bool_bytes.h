#pragma once
// Normalizes bools that were read from files.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

// Makes each of the n bytes 0 or 1 if they are bools: a bool with any other byte is undefined in
// C++, and files may hold any. Bytes of other dtypes stay as they are.
inline void NormalizeBools(DType dtype, void* bytes, size_t n) {
  if (dtype != DType::kBool) return;
  auto* const each = static_cast<unsigned char*>(bytes);
  for (size_t i = 0; i < n; ++i) each[i] = static_cast<unsigned char>(each[i] != 0);
}

}  // namespace tpuest
