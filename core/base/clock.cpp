#include "core/base/clock.h"

#include <chrono>

namespace tpuest {
namespace {

template <class ClockType>
double Now() {
  return std::chrono::duration<double>(ClockType::now().time_since_epoch()).count();
}

}  // namespace

double SystemClock::WallSeconds() const { return Now<std::chrono::system_clock>(); }
double SystemClock::Seconds() const { return Now<std::chrono::steady_clock>(); }

}  // namespace tpuest
