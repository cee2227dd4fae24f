#include "core/backend/cpu/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace tpuest {
namespace {

// The size of a cache line and of the widest vector register. Buffers never share a cache line, so
// two threads never write to the same one.
constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

// Places the largest buffers first, after Pisarchyk and Lee 2020: each buffer takes the lowest gap
// between the buffers placed so far that live at the same time. The time is quadratic in the number
// of buffers, which is in the hundreds. The sort is stable, so the layout depends only on the
// program.
ArenaLayout LayOut(const std::vector<Lifetime>& buffers) {
  ArenaLayout layout;
  layout.offsets.resize(buffers.size());
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<size_t> placed;  // by offset
  // The end of the last buffer of each size and lifetime. Below it there is no gap for another such
  // buffer.
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
