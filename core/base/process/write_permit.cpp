#include "core/base/process/write_permit.h"

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace tpuest {
namespace {

// Files are written at every depth, for one process.
using NeedPermit = std::function<void()>;
std::mutex permit_mutex;
std::shared_ptr<const NeedPermit> permit;

void SetPermit(std::shared_ptr<const NeedPermit> now) {
  const std::lock_guard lock(permit_mutex);
  permit = std::move(now);
}

// It may take a while, for which others are not held up.
std::shared_ptr<const NeedPermit> PermitNow() {
  const std::lock_guard lock(permit_mutex);
  return permit;
}

}  // namespace

WritePermit::WritePermit(NeedPermit need_permit) {
  SetPermit(std::make_shared<const NeedPermit>(std::move(need_permit)));
}

WritePermit::~WritePermit() { SetPermit(nullptr); }

void NeedWritePermit() {
  if (const auto now = PermitNow()) (*now)();
}

bool HasWritePermit() noexcept {
  try {
    NeedWritePermit();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace tpuest
