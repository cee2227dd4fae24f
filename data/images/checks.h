#pragma once
// Checks that ops on images make of their column. Only for this folder.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/images/image_op.h"

namespace tpuest::data {

// An op that calls a function.
class CalledOp final : public ImageOp {
 public:
  using Call = std::function<void(Picture&, const RecordKey&, PictureScratch&)>;
  explicit CalledOp(Call call) : call_(std::move(call)) {}
  void Run(Picture& picture, const RecordKey& record, PictureScratch& scratch) const override {
    call_(picture, record, scratch);
  }

 private:
  Call call_;
};

// A result column: `spec` with this type and these sizes.
[[nodiscard]] ImageColumn ImageOf(const TensorSpec& spec, DType dtype, int64_t height,
                                  int64_t width, int64_t channels, CalledOp::Call call);

// Throw Error kUsage.
void CheckFile(const TensorSpec& spec);
void CheckPicture(const TensorSpec& spec);
void CheckColor(const TensorSpec& spec);
void CheckDecodedChannels(int channels);
void CheckBox(const DistortedBox& box);
void CheckEvaluationCrop(int64_t image_size, int64_t crop_padding);
void CheckSide(std::string_view name, int64_t side);
// [height, width] of `size`.
[[nodiscard]] std::pair<int64_t, int64_t> CheckedSize(const std::vector<int64_t>& size);
// The record's numbers for an op that may have a seed of its own.
[[nodiscard]] Draws DrawsOf(const RandomImageMap& options, RecordKey record, uint64_t name);

}  // namespace tpuest::data
