#pragma once
// The job's tpuest.data_errors: whether a record that cannot be read ends the run or is left out.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"

namespace tpuest::data {

struct DataErrorOptions {
  std::string policy = "error";
  double max_fraction = 0;

  template <class V>
  void Visit(V& v) {
    v("policy", policy,
      {.help = "`error` ends the run at a bad record; `skip` leaves out bad records of CSV files, "
               "which are found when a file is opened",
       .tpuest = true,
       .values = {"error", "skip"}});
    v("max_fraction", max_fraction,
      {.help = "largest fraction of bad records; more end the run", .tpuest = true});
  }
  [[nodiscard]] bool skip() const { return policy == "skip"; }
};

// One record that was left out: its file, the line of the fault (from 1), and what is wrong.
struct BadRecord {
  std::string file;
  int line = 0;
  std::string why;
};

// The treatment of bad records by a source. `report` is told which ones were left out and how many
// records there are in all; it is called once, while the source is opened, and only if there are
// any. 0 records: files or folders that could not be looked into, so that nobody knows how many.
struct DataErrors {
  DataErrorOptions options;
  std::function<void(const std::vector<BadRecord>& bad, int64_t records)> report;  // may be empty
};

}  // namespace tpuest::data
