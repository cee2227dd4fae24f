#pragma once
// Whether this process may still write. One that stood still for long (SIGSTOP, a frozen machine)
// may have been given up by the other processes of its group, whose next run has its files by now.
// So whoever gives a file its name, appends to one or removes one asks here right before; what is
// asked is the group's to set (Group::NeedPlace in core/hosts/group.h).

#include <functional>

namespace tpuest {

// From its making until its end `need_permit` is asked, by any thread; it throws where nothing may
// be written any more. One at a time.
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
