#include "core/estimator/checkpoint/saved/saved_entries.h"

#include <cstring>

#include "core/io/slice_order.h"

namespace tpuest {

std::optional<Shape> SavedEntries::ShapeOf(const std::string& name, DType dtype) const {
  const auto found = saved_.tensors.find(name);
  if (found != saved_.tensors.end()) {
    return found->second.dtype() == dtype ? std::optional(found->second.shape()) : std::nullopt;
  }
  if (!saved_.left.contains(name) || saved_.on_disk->DTypeOf(name) != dtype) return std::nullopt;
  return saved_.on_disk->ShapeOf(name);
}

void SavedEntries::Read(const std::string& name, const TakeBytesFn& take) const {
  if (saved_.dealt_by_mod && saved_.on_disk != nullptr && saved_.on_disk->Has(name) &&
      saved_.on_disk->RowSlicesOf(name) > 1) {
    const Tensor ordered = ReadInRowOrder(*saved_.on_disk, name, true);
    return take({static_cast<const char*>(ordered.raw()), ordered.bytes()});
  }
  const auto found = saved_.tensors.find(name);
  if (found == saved_.tensors.end()) return saved_.on_disk->ReadPieces(name, take);
  take({static_cast<const char*>(found->second.raw()), found->second.bytes()});
}

std::vector<int64_t> SavedEntries::Integers(const std::string& name) const {
  std::vector<int64_t> all;
  Read(name, [&](std::string_view bytes) {
    const size_t before = all.size();
    all.resize(before + bytes.size() / sizeof(int64_t));
    std::memcpy(all.data() + before, bytes.data(), bytes.size());
  });
  return all;
}

}  // namespace tpuest
