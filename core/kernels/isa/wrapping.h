#pragma once
// Integer arithmetic that wraps around on overflow, as TensorFlow's does; C++ defines this only for
// unsigned numbers.

#include <cstdint>
#include <type_traits>

namespace tpuest {

template <class T>
using Wrapping = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t,
                                    std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>>;

}  // namespace tpuest
