#include "data/images/shape_folder.h"

#include "core/base/process/files.h"
#include "core/io/images/image.h"
#include "data/images/record_key.h"
#include "data/images/shapes.h"

namespace tpuest::data {
namespace {

constexpr uint64_t kSizesName = 0x73697a6573000001ULL;  // "sizes"
constexpr int kShapeQuality = 92;

}  // namespace

std::vector<int64_t> WriteShapeFolder(const ShapeFolder& folder) {
  constexpr int64_t kSmallest = 16;
  constexpr int64_t kLargest = 256;
  if (folder.size < kSmallest || folder.size > kLargest) {
    throw Error(Code::kUsage, fmt::format("images of {} pixels; expected {} to {}", folder.size,
                                          kSmallest, kLargest));
  }
  if (DirectoryExists(folder.directory) && !ListDirectory(folder.directory).empty()) {
    throw Error(Code::kUsage, fmt::format("{}: the folder is not empty", folder.directory),
                "name a new folder, or remove this one");
  }
  const auto names = ShapeNames(ShapeFamily::kFlowers);
  std::vector<int64_t> counts(names.size());
  for (const std::string_view name : names) MakeDirectories(JoinPath(folder.directory, name));
  DecodedImage image;
  for (int64_t i = 0; i < folder.count; ++i) {
    Draws draws = DrawsFor({folder.seed, 0, 0, static_cast<uint64_t>(i)}, kSizesName);
    const int64_t size = folder.size * 3 / 4 + draws.Below(folder.size / 4 + 1);
    image.Resize(size, size, 3);
    const int32_t kind = DrawShape({.family = ShapeFamily::kFlowers,
                                    .seed = folder.seed,
                                    .classes = static_cast<int64_t>(names.size()),
                                    .size = size},
                                   i, image.pixels.data());
    const std::string file = fmt::format("{:05}.jpg", counts[static_cast<size_t>(kind)]++);
    const std::string path =
        JoinPath(JoinPath(folder.directory, names[static_cast<size_t>(kind)]), file);
    WriteFileAtomically(path, EncodeJpeg(image, kShapeQuality), false);
  }
  return counts;
}

}  // namespace tpuest::data
