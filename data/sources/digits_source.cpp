#include <atomic>
#include <memory>

#include "data/sources/digits.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// Draws a digit for each read into the row's own bytes: the pixels, then the label.
class DrawnDigits : public IndexedSource {
 public:
  DrawnDigits(int64_t count, uint64_t seed)
      : IndexedSource(
            {{"image", DType::kUint8, Shape({kDigitPixels})}, {"label", DType::kInt32, Shape()}},
            {std::string(DigitsSource::kType)}),
        count_(count),
        seed_(seed) {}
  [[nodiscard]] int64_t size() const override { return count_; }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.bytes.resize(kDigitPixels + sizeof(int32_t));
    uint8_t* const pixels = row.bytes.data();
    const int32_t label = Draw(index, pixels);
    uint8_t* const label_at = pixels + kDigitPixels;  // at 784, which is aligned for int32
    std::memcpy(label_at, &label, sizeof label);
    row.columns.resize(2);
    row.columns[0] = {pixels, kDigitPixels};
    row.columns[1] = {label_at, 1};
  }

 protected:
  int32_t Draw(int64_t index, uint8_t* pixels) const {
    return DrawDigit(seed_, index, std::span<uint8_t, kDigitPixels>(pixels, kDigitPixels));
  }

 private:
  int64_t count_;
  uint64_t seed_;
};

// Keeps each digit after drawing it. If two threads draw the same digit, only one keeps it; both
// have the same bytes, because a digit is a function of (seed, index).
class KeptDigits final : public DrawnDigits {
 public:
  KeptDigits(int64_t count, uint64_t seed)
      : DrawnDigits(count, seed),
        pixels_(
            std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(count) * kDigitPixels)),
        labels_(std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(count))),
        states_(std::make_unique<std::atomic<uint8_t>[]>(static_cast<size_t>(count))) {}

  void Read(int64_t index, Row& row) const override {
    const auto at = static_cast<size_t>(index);
    std::atomic<uint8_t>& state = states_[at];
    uint8_t* const pixels = &pixels_[at * kDigitPixels];
    // Pairs with the release below: a thread that sees kKept also sees the pixels and the label.
    if (state.load(std::memory_order_acquire) != kKept) {
      uint8_t empty = kEmpty;
      if (!state.compare_exchange_strong(empty, kTaken)) return DrawnDigits::Read(index, row);
      labels_[at] = Draw(index, pixels);
      state.store(kKept, std::memory_order_release);
    }
    row.from = From(index);
    row.columns.resize(2);
    row.columns[0] = {pixels, kDigitPixels};
    row.columns[1] = {&labels_[at], 1};
  }

 private:
  static constexpr uint8_t kEmpty = 0;
  static constexpr uint8_t kTaken = 1;
  static constexpr uint8_t kKept = 2;
  std::unique_ptr<uint8_t[]> pixels_;
  std::unique_ptr<int32_t[]> labels_;
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
};

}  // namespace

std::shared_ptr<IndexedSource> OpenDigits(const DigitsSource& options, bool cached,
                                          const std::string& key) {
  if (options.count < 1) {
    throw Error(Code::kUsage, fmt::format("count is {}; expected 1 or more", options.count))
        .Key(key + ".count");
  }
  if (cached) return std::make_shared<KeptDigits>(options.count, options.seed);
  return std::make_shared<DrawnDigits>(options.count, options.seed);
}

}  // namespace tpuest::data
