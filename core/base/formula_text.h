#pragma once
// A formula as an option of a job: its text, and the text's place in the job.

#include <string>

#include "core/base/error.h"

namespace tpuest {

// `place` is the place of the first byte. `verbatim` is false if columns of the text differ from
// those of the job's line: variables were substituted, or the text is a block of lines.
struct Formula {
  std::string text;
  Place place = {};
  bool verbatim = true;

  [[nodiscard]] bool empty() const { return text.empty(); }
};

// The place of a byte of the formula.
[[nodiscard]] inline Place PlaceIn(const Formula& formula, size_t at) {
  Place place = formula.place;
  if (formula.verbatim && place.line > 0) place.column += static_cast<int>(at);
  return place;
}

}  // namespace tpuest
