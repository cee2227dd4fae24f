#include "core/kernels/isa/reduce.h"

#include "core/base/error.h"
#include "core/kernels/isa/kernel_table.h"

namespace tpuest {

Reduce::Reduce(Reduction reduction, const Shape& shape, const std::vector<bool>& reduced, DType in,
               DType out, int64_t divisor)
    : loop_(Kernels().reduce_loop(reduction, in, out)) {
  Check(loop_ != nullptr, "no such reduction of {} to {}", NameOf(in), NameOf(out));
  Check(reduced.size() == static_cast<size_t>(shape.rank()));
  std::vector<Group> groups;
  for (size_t d = 0; d < reduced.size(); ++d) {
    const int64_t size = shape.dims()[d];
    if (size == 1) continue;
    if (groups.empty() || groups.back().reduced != reduced[d]) {
      groups.push_back({.size = 1, .reduced = reduced[d]});
    }
    groups.back().size *= size;
  }
  for (size_t g = groups.size(); g-- > 0;) {
    if (groups[g].reduced) continue;
    groups[g].out_stride = layout_.results;
    layout_.results *= groups[g].size;
  }
  if (!groups.empty()) {
    layout_.inner = groups.back();
    groups.pop_back();
  }
  for (const Group& group : groups) layout_.runs *= group.size;
  if (layout_.inner.size == 0) layout_.runs = 0;
  Check(groups.size() <= 16);
  layout_.outer = std::move(groups);
  layout_.divisor = divisor;
}

size_t Reduce::ScratchBytes() const {
  return static_cast<size_t>(layout_.results) * sizeof(double);
}

void Reduce::Run(const void* in, void* out, void* scratch) const {
  loop_(layout_, in, out, scratch);
}

}  // namespace tpuest
