#include <cstring>
#include <memory>

#include "data/images/shapes.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// Draws a shape for each read into the row's own bytes: the pixels, then the label.
class DrawnShapes final : public IndexedSource {
 public:
  DrawnShapes(int64_t count, const ShapeSet& set)
      : IndexedSource({{"image", DType::kUint8, Shape({set.size, set.size, 3})},
                       {"label", DType::kInt32, Shape()}},
                      {std::string(ShapesSource::kType)}),
        count_(count),
        set_(set) {}
  [[nodiscard]] int64_t size() const override { return count_; }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    const int64_t values = set_.size * set_.size * 3;
    const auto label_at = static_cast<size_t>((values + 3) / 4 * 4);  // aligned for int32
    row.bytes.resize(label_at + sizeof(int32_t));
    const int32_t label = DrawShape(set_, index, row.bytes.data());
    std::memcpy(&row.bytes[label_at], &label, sizeof label);
    row.columns.resize(2);
    row.columns[0] = {row.bytes.data(), values};
    row.columns[1] = {&row.bytes[label_at], 1};
  }

 private:
  int64_t count_;
  ShapeSet set_;
};

void CheckBetween(int64_t value, int64_t least, int64_t most, const std::string& key) {
  if (value >= least && value <= most) return;
  throw Error(Code::kUsage, fmt::format("{} is {}; expected {} to {}",
                                        key.substr(key.rfind('.') + 1), value, least, most))
      .Key(key);
}

}  // namespace

std::shared_ptr<IndexedSource> OpenShapes(const ShapesSource& options, const std::string& key) {
  CheckBetween(options.count, 1, int64_t{1} << 40, key + ".count");
  CheckBetween(options.classes, 2, 10, key + ".classes");
  CheckBetween(options.size, 8, 256, key + ".size");
  const ShapeSet set{ShapeFamily::kShapes, options.seed, options.classes, options.size};
  return std::make_shared<DrawnShapes>(options.count, set);
}

}  // namespace tpuest::data
