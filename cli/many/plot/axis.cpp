#include "cli/many/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr double kSteps[] = {1, 2, 5};

// The smallest 1, 2 or 5 times a power of ten that is at least so large.
double NiceStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double step : kSteps) {
    if (step * power >= least * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

void AddLinearTicks(Axis& axis, int ticks) {
  const double step = NiceStep((axis.high - axis.low) / ticks);
  const double first = std::ceil(axis.low / step - 1e-9);
  const double last = std::floor(axis.high / step + 1e-9);
  // `i` counts apart from the tick's number, which may be too large for one more to change it.
  for (int i = 0; i <= 2 * ticks && first + i <= last; ++i) {
    axis.ticks.push_back((first + i) * step);
  }
}

void AddDecades(Axis& axis, int ticks) {
  const double first = std::floor(std::log10(axis.low));
  const double last = std::ceil(std::log10(axis.high));
  const bool is_short = last - first <= 2;
  const double apart = std::max(1.0, std::ceil((last - first) / ticks));
  for (double power = first; power <= last; power += apart) {
    for (const double step : kSteps) {
      const double tick = step * std::pow(10, power);
      const bool is_shown = step == 1 || is_short;
      if (is_shown && tick >= axis.low * (1 - 1e-9) && tick <= axis.high * (1 + 1e-9)) {
        axis.ticks.push_back(tick);
      }
    }
  }
}

}  // namespace

double Axis::At(double value) const {
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Axis MakeAxis(const std::vector<double>& values, bool logarithmic, int ticks) {
  Axis axis{.low = INFINITY, .high = -INFINITY, .logarithmic = logarithmic, .ticks = {}};
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) continue;
    axis.low = std::min(axis.low, value);
    axis.high = std::max(axis.high, value);
  }
  if (axis.low > axis.high) {
    axis.low = logarithmic ? 0.1 : 0;
    axis.high = 1;
  } else if (axis.low == axis.high) {
    const double around = axis.low == 0 ? 1 : std::abs(axis.low) / 2;
    axis.high += around;
    axis.low -= around;
  }
  if (logarithmic) {
    AddDecades(axis, ticks);
  } else {
    AddLinearTicks(axis, ticks);
  }
  return axis;
}

std::string TickText(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1000 && size < 1e9 && value == std::floor(value)) {
    return WithCommas(static_cast<int64_t>(value));
  }
  return fmt::format("{:.6g}", value);
}

}  // namespace tpuest::cli
