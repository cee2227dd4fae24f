#pragma once
// The job's tpuest.data_errors: whether an unreadable record ends the run or is skipped.

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

// A skipped record: its file, the line of the error (from 1), and the message.
struct BadRecord {
  std::string file;
  int line = 0;
  std::string why;
};

// The treatment of bad records by a source. Calls `report` with the skipped records and the total
// number of records, once, while the source is opened, and only if records were skipped. A total of
// 0 means that files or folders could not be read, so the number is unknown.
struct DataErrors {
  DataErrorOptions options;
  std::function<void(const std::vector<BadRecord>& bad, int64_t records)> report;  // may be empty
};

}  // namespace tpuest::data
