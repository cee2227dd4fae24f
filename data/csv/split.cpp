#include "data/csv/split.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/io/crc32c.h"

namespace tpuest::data {

bool IsOfEval(std::string_view record, double fraction) {
  uint64_t bits = (uint64_t{Crc32c(record)} << 32 | record.size()) + 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  bits ^= bits >> 31;
  return std::ldexp(static_cast<double>(bits >> 11), -53) < fraction;
}

void RecordSubset::Append(bool is_kept) {
  constexpr int64_t kBits = 64;
  if (all_ % kBits == 0) {
    words_.push_back(0);
    before_.push_back(size_);
  }
  if (is_kept) {
    words_.back() |= uint64_t{1} << (all_ % kBits);
    ++size_;
  }
  ++all_;
}

int64_t RecordSubset::operator[](int64_t i) const {
  const auto after = std::upper_bound(before_.begin(), before_.end(), i);
  const auto at = static_cast<size_t>(after - before_.begin()) - 1;
  uint64_t word = words_[at];
  for (int64_t k = before_[at]; k < i; ++k) word &= word - 1;
  return static_cast<int64_t>(at) * 64 + std::countr_zero(word);
}

}  // namespace tpuest::data
