#pragma once
// What becomes of records that cannot be read: tpuest.data_errors of a job.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"

namespace tpuest {

struct DataErrorOptions {
  std::string policy = "error";
  double max_fraction = 0;

  template <class V>
  void Visit(V& v) {
    v("policy", policy,
      {.help = "skip: bad records of CSV files are found when the file is opened, and left out",
       .tpuest = true,
       .values = {"error", "skip"}});
    v("max_fraction", max_fraction,
      {.help = "of the records; more bad ones end the run", .tpuest = true});
  }
  [[nodiscard]] bool skip() const { return policy == "skip"; }
};

struct BadRecord {
  std::string file;
  int line = 0;
  std::string why;
};

// How a source treats bad records, and who is told which ones it left out, of how many in all.
struct DataErrors {
  DataErrorOptions options;
  std::function<void(const std::vector<BadRecord>& bad, int64_t records)> report;  // may be empty
};

}  // namespace tpuest
