#pragma once
// Whether this process may still write. If it was suspended for long (SIGSTOP, a frozen machine),
// its peers may have given it up, and the group's next run may own its files by now. So code that
// names, appends to or removes a file calls NeedWritePermit right before. The group sets the check
// (Group::NeedMembership in core/hosts/group.h).

#include <functional>

namespace tpuest {

// While an object of this class exists, NeedWritePermit calls `need_permit`, on any thread; it
// throws if this process may no longer write. One object at a time.
class WritePermit {
 public:
  explicit WritePermit(std::function<void()> need_permit);
  ~WritePermit();
  WritePermit(const WritePermit&) = delete;
  WritePermit& operator=(const WritePermit&) = delete;
};

// Throws what `need_permit` throws.
void NeedWritePermit();
[[nodiscard]] bool HasWritePermit() noexcept;

}  // namespace tpuest
