#pragma once
// A made-up log of clicks on advertisements, in the format of Criteo's: lines of 40 fields between
// tabs, without a header. They are 1 for a click or 0; 13 whole numbers; and 26 kinds of things,
// each named by 8 hexadecimal digits. A field that is not known is empty. Only +, - and * are used,
// so every machine writes the same bytes.

#include <cstdint>
#include <string>

namespace tpuest::data {

inline constexpr int kClickNumbers = 13;
inline constexpr int kClickThings = 26;

// Adds line `index` of the log of `seed`, with its end. What makes a click likely is the same in
// the logs of all seeds: one may train on one and evaluate on another.
void AppendClick(uint64_t seed, int64_t index, std::string& log);

struct ClickLog {
  std::string path;
  int64_t count = 0;  // lines
  uint64_t seed = 0;
};

// Writes the lines to a file; gives how many of them are clicks.
int64_t WriteClickLog(const ClickLog& log);

}  // namespace tpuest::data
