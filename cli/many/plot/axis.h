#pragma once
// An axis of a plot, its range and its ticks.

#include <string>
#include <vector>

namespace tpuest::cli {

struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;  // ascending; see MakeAxis

  // The place of a value: 0 at `low`, 1 at `high`.
  [[nodiscard]] double At(double value) const;
};

// An axis from the smallest to the largest value; values that are not finite, or not positive on a
// logarithmic axis, are skipped; without values it ranges from 0 (0.1) to 1. It has about `ticks`
// ticks, 1, 2 or 5 times a power of ten apart; on a logarithmic axis the ticks are such numbers.
[[nodiscard]] Axis MakeAxis(const std::vector<double>& values, bool logarithmic, int ticks);
// A tick's label: "0.001", "1,000,000", "2e-07".
[[nodiscard]] std::string TickText(double value);

}  // namespace tpuest::cli
