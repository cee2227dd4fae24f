#pragma once
// A synthetic log of clicks on advertisements in Criteo's format: lines of 40 tab-separated fields
// without a header: 1 for a click, otherwise 0; 13 integers; and 26 categories of 8 hexadecimal
// digits. Unknown fields are empty. Uses only +, - and *, so every machine writes the same bytes.

#include <cstdint>
#include <string>

namespace tpuest::data {

inline constexpr int kClickNumbers = 13;
inline constexpr int kClickThings = 26;

// Appends line `index` of the log of `seed`, with its line end. The click probability depends on
// the fields in the same way for all seeds, so a job may train on one log and evaluate on another.
void AppendClick(uint64_t seed, int64_t index, std::string& log);

struct ClickLog {
  std::string path;
  int64_t count = 0;  // lines
  uint64_t seed = 0;
};

// Writes the lines to a file and returns the number of clicks.
int64_t WriteClickLog(const ClickLog& log);

}  // namespace tpuest::data
