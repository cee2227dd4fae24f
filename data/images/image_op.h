#pragma once
// The map ops on images as functions on the image of one record, with types known in advance.

#include <cstdint>
#include <memory>

#include "core/estimator/contract/contract.h"
#include "data/images/picture.h"
#include "data/images/record_key.h"
#include "data/options.h"

namespace tpuest::data {

// Immutable; shared by the workers.
class ImageOp {
 public:
  virtual ~ImageOp() = default;
  // Throws kData for a file or an image that the op cannot process.
  virtual void Run(Picture& picture, const RecordKey& record, PictureScratch& scratch) const = 0;
};

// The column that an op makes, and the op; nullptr: the image does not change.
struct ImageColumn {
  TensorSpec spec;
  std::shared_ptr<const ImageOp> op;
};

// `spec` is the column that the op reads: a string [], or uint8 or float32 [height, width,
// channels] with sizes that may be unknown. `name` is a fingerprint of the op's name in the job,
// which seeds its random numbers. Throws kUsage if the op cannot process the column.
[[nodiscard]] ImageColumn ResolveImageOp(const DecodeImageMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const DecodeCenterCropMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const DecodeRandomCropMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const ResizeMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const CentralCropMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const RandomCropMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const DistortedBoxMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const CropOrPadMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const ResizeWithPadMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const FlipLeftRightMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const FlipUpDownMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const StandardizationMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const RandomBrightnessMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const RandomContrastMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const RandomSaturationMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const RandomHueMap& options, const TensorSpec& spec,
                                         uint64_t name);
[[nodiscard]] ImageColumn ResolveImageOp(const ConvertImageDtypeMap& options,
                                         const TensorSpec& spec, uint64_t name);

}  // namespace tpuest::data
