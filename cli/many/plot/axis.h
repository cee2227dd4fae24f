#pragma once
// An axis of a plot: its range and its ticks.

#include <string>
#include <vector>

namespace tpuest::cli {

struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;  // 1, 2 or 5 times a power of ten apart; of a logarithmic axis, such

  // Where a value stands: 0 at `low`, 1 at `high`.
  [[nodiscard]] double At(double value) const;
};

// For values that are finite and, on a logarithmic axis, positive; others are passed over. About
// `ticks` of them.
[[nodiscard]] Axis MakeAxis(const std::vector<double>& values, bool logarithmic, int ticks);
// "0.001", "1,000,000", "2e-07".
[[nodiscard]] std::string TickText(double value);

}  // namespace tpuest::cli
