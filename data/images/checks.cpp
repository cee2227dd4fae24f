#include "data/images/checks.h"

namespace tpuest::data {
namespace {

[[noreturn]] void RefuseOp(std::string what, std::string hint = "") {
  throw Error(Code::kUsage, std::move(what), std::move(hint));
}

bool IsRange(const std::vector<double>& range) {
  return range.size() == 2 && range[0] > 0 && range[0] <= range[1];
}

}  // namespace

ImageColumn ImageOf(const TensorSpec& spec, DType dtype, int64_t height, int64_t width,
                    int64_t channels, CalledOp::Call call) {
  TensorSpec made = spec;
  made.dtype = dtype;
  made.shape = Shape({height, width, channels});
  return {std::move(made), std::make_shared<CalledOp>(std::move(call))};
}

void CheckFile(const TensorSpec& spec) {
  if (spec.dtype == DType::kString && spec.shape.rank() == 0) return;
  RefuseOp("expected one string per example: the bytes of an image");
}

void CheckPicture(const TensorSpec& spec) {
  if (spec.shape.rank() != 3) {
    RefuseOp("expected an image [height, width, channels]", spec.dtype == DType::kString
                                                                ? "put a decode_image before it"
                                                                : "put a reshape before it");
  }
  if (spec.dtype != DType::kUint8 && spec.dtype != DType::kFloat) {
    RefuseOp("expected uint8 or float32", "put a cast before it, or move this op forward");
  }
}

void CheckColor(const TensorSpec& spec) {
  CheckPicture(spec);
  if (spec.shape.dim(2) != 3) RefuseOp("expected three channels", "decode with channels: 3");
}

void CheckDecodedChannels(int channels) {
  if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return;
  RefuseOp(fmt::format("channels is {}; expected 0, 1, 3 or 4", channels));
}

void CheckBox(const DistortedBox& box) {
  if (!IsRange(box.area_range) || box.area_range[1] > 1) {
    RefuseOp("area_range: expected [from, to], above 0 and at most 1");
  }
  if (!IsRange(box.aspect_ratio_range)) {
    RefuseOp("aspect_ratio_range: expected [from, to], above 0");
  }
  if (!(box.min_object_covered >= 0 && box.min_object_covered <= 1)) {
    RefuseOp(fmt::format("min_object_covered is {}; expected 0 to 1", box.min_object_covered));
  }
  // Each attempt takes four of the record's random numbers.
  constexpr int kMostAttempts = 10'000;
  if (box.max_attempts < 1 || box.max_attempts > kMostAttempts) {
    RefuseOp(fmt::format("max_attempts is {}; expected 1 to {}", box.max_attempts, kMostAttempts));
  }
}

void CheckSide(std::string_view name, int64_t side) {
  constexpr int64_t kLargest = 1 << 16;
  if (side < 1 || side > kLargest) {
    RefuseOp(fmt::format("{} is {}; expected 1 to {}", name, side, kLargest));
  }
}

void CheckEvaluationCrop(int64_t image_size, int64_t crop_padding) {
  CheckSide("image_size", image_size);
  if (crop_padding < 0)
    RefuseOp(fmt::format("crop_padding is {}; expected 0 or more", crop_padding));
}

std::pair<int64_t, int64_t> CheckedSize(const std::vector<int64_t>& size) {
  if (size.size() != 2) RefuseOp("size: expected [height, width]");
  CheckSide("size[0]", size[0]);
  CheckSide("size[1]", size[1]);
  return {size[0], size[1]};
}

Draws DrawsOf(const RandomImageMap& options, RecordKey record, uint64_t name) {
  if (!options.seed) return DrawsFor(record, name);
  if (!record.seeds_by_name) return DrawsFor(record, SeedName(0, *options.seed));
  record.seed = *options.seed;
  return DrawsFor(record, name);
}

}  // namespace tpuest::data
