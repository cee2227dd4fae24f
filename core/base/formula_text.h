#pragma once
// A formula as an option of a job: its text, which its part builds from, and where that stands.

#include <string>

#include "core/base/error.h"

namespace tpuest {

// `place` is that of the first byte; `verbatim` is false where the text has other columns than the
// job's line: variables were put in, or it is a block of lines.
struct Formula {
  std::string text;
  Place place = {};
  bool verbatim = true;

  [[nodiscard]] bool empty() const { return text.empty(); }
};

// The place of a byte of it.
[[nodiscard]] inline Place PlaceIn(const Formula& formula, size_t at) {
  Place place = formula.place;
  if (formula.verbatim && place.line > 0) place.column += static_cast<int>(at);
  return place;
}

}  // namespace tpuest
