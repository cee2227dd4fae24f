#pragma once
// Convolution computed directly from its formula: for double, which oneDNN lacks, and as a
// reference. T is float or double; shapes as in conv.h.

#include "core/kernels/isa/conv_shape.h"

namespace tpuest {

// bias may be nullptr.
template <class T>
void PlainConvForward(const ConvShape& shape, const T* x, const T* filter, const T* bias, bool relu,
                      T* y);
template <class T>
void PlainConvBackwardData(const ConvShape& shape, const T* dy, const T* filter, T* dx);
template <class T>
void PlainConvBackwardFilter(const ConvShape& shape, const T* x, const T* dy, T* dfilter);

}  // namespace tpuest
