#pragma once
// Draws a plot in characters; each curve has a different symbol.

#include <string>

#include "cli/many/plot/curves.h"

namespace tpuest::cli {

struct TextCanvas {
  int width = 80;   // columns of characters, labels included
  int height = 14;  // rows of the curves
  bool unicode = false;
};

// The canvas of stdout: its width, or 80; Unicode if the locale's encoding is UTF-8 and TERM is not
// dumb.
[[nodiscard]] TextCanvas CanvasOfStdout();
// The panel's title, curves, axes and legend, in lines that end in a newline.
[[nodiscard]] std::string PlotText(const Panel& panel, const std::string& x_name,
                                   const TextCanvas& canvas);

}  // namespace tpuest::cli
