// Tensors of Keras' files: what is stored, and as what it is read.

#include <bit>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "models/keras/keras_file.h"

namespace tpuest {
namespace {

// IEEE's half precision: a sign, five bits of exponent, ten of mantissa.
float FloatOfHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto mantissa = static_cast<float>(bits & 1023);
  float value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Words of two bytes as float32.
template <class Convert>
Tensor Widened(const Tensor& stored, const Convert& convert) {
  Tensor tensor(DType::kFloat, stored.shape());
  const auto* const from = static_cast<const uint16_t*>(stored.raw());
  float* const to = tensor.data<float>();
  for (int64_t i = 0; i < stored.elements(); ++i) to[i] = convert(from[i]);
  return tensor;
}

}  // namespace

KerasWeight::KerasWeight(std::string name, const Hdf5Object& dataset)
    : name_(std::move(name)),
      place_(dataset.place()),
      shape_(dataset.shape()),
      stored_(dataset.dtype()),
      read_([dataset] { return dataset.Read(); }) {
  if (!dataset.is_dataset()) {
    throw Error(Code::kData, place() + ": is a group, expected a tensor");
  }
  // Keras writes bfloat16, which HDF5 has not, as two bytes that an attribute explains.
  if (dataset.opaque()) {
    const std::vector<std::string> dtype = dataset.Strings("dtype");
    const bool known = stored_ == DType::kUint16 && dtype.size() == 1 && dtype[0] == "bfloat16";
    stored_ = known ? DType::kBfloat16 : DType::kInvalid;
  }
  if (stored_ == DType::kInvalid) {
    throw Error(Code::kData, place() + ": has a type that tensors cannot have");
  }
}

KerasWeight::KerasWeight(std::string name, const std::shared_ptr<const BundleReader>& bundle,
                         const std::string& key)
    : name_(std::move(name)),
      place_(bundle->prefix() + ": " + key),
      shape_(bundle->ShapeOf(key)),
      stored_(bundle->DTypeOf(key)),
      read_([bundle, key] { return bundle->Read(key); }) {
  if (stored_ == DType::kInvalid) {
    throw Error(Code::kData, place() + ": has a type that tensors cannot have");
  }
}

DType KerasWeight::dtype() const { return IsFloating(stored_) ? DType::kFloat : stored_; }

Tensor KerasWeight::Read() const {
  Tensor tensor = read_();
  switch (stored_) {
    case DType::kHalf:
      return Widened(tensor, FloatOfHalf);
    case DType::kBfloat16:
      return Widened(tensor, [](uint16_t bits) {
        return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
      });
    case DType::kDouble:
      return tensor.Cast(DType::kFloat);
    default:
      return tensor;
  }
}

}  // namespace tpuest
