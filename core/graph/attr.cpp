#include "core/graph/attr.h"

namespace tpuest {

bool SameAttr(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return SameBits(value, other);
        } else {
          return value == other;
        }
      },
      a);
}

}  // namespace tpuest
