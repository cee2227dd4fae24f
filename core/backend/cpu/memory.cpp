#include "core/backend/cpu/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace tpuest {
namespace {

// A cache line and the widest vector register: no two buffers share a line that two threads write.
constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// Places the largest first, after Pisarchyk and Lee 2020: each buffer takes the lowest gap between
// those placed so far that live at the same time. The time is quadratic in the number of buffers,
// which is hundreds. Sorting is stable, so the layout follows from the program alone.
ArenaLayout LayOut(const std::vector<Lifetime>& buffers) {
  ArenaLayout layout;
  layout.offsets.resize(buffers.size());
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<size_t> placed;  // by offset
  // By size and lifetime: the end of the last such buffer. There is no gap for another one below.
  std::map<std::tuple<size_t, int, int>, size_t> ends;
  for (const size_t i : order) {
    const Lifetime& buffer = buffers[i];
    size_t& end = ends[{RoundUp(buffer.bytes), buffer.first, buffer.last}];
    size_t offset = end;
    const auto begin =
        std::lower_bound(placed.begin(), placed.end(), offset,
                         [&](size_t other, size_t at) { return layout.offsets[other] < at; });
    for (auto at = begin; at != placed.end(); ++at) {
      const size_t other = *at;
      const bool together =
          buffers[other].first <= buffer.last && buffer.first <= buffers[other].last;
      if (!together) continue;
      if (offset + RoundUp(buffer.bytes) <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + RoundUp(buffers[other].bytes));
    }
    layout.offsets[i] = offset;
    end = offset + RoundUp(buffer.bytes);
    layout.bytes = std::max(layout.bytes, offset + RoundUp(buffer.bytes));
    const auto by_offset = [&](size_t a, size_t b) {
      return layout.offsets[a] < layout.offsets[b];
    };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, by_offset), i);
  }
  return layout;
}

}  // namespace tpuest
