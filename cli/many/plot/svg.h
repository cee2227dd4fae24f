#pragma once
// Draws a plot as an SVG document.

#include <string>
#include <vector>

#include "cli/many/plot/curves.h"

namespace tpuest::cli {

// The document: panels one below the other, each with axes, ticks, labels and a legend. Curves
// differ in colour and in dashes. The same panels give the same bytes.
[[nodiscard]] std::string PlotSvg(const std::vector<Panel>& panels, const std::string& x_name);

}  // namespace tpuest::cli
