#pragma once
// The entries of a loaded checkpoint, whether they are in memory or left on disk.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/io/bundle.h"

namespace tpuest {

class SavedEntries {
 public:
  // `saved` outlives this.
  explicit SavedEntries(const SavedState& saved) : saved_(saved) {}

  // Returns nullopt if there is no entry of this dtype.
  [[nodiscard]] std::optional<Shape> ShapeOf(const std::string& name, DType dtype) const;
  // Passes the values to `take` in pieces; rows that were partitioned by mod come in row order.
  void Read(const std::string& name, const TakeBytesFn& take) const;
  // Returns the values of an int64 entry.
  [[nodiscard]] std::vector<int64_t> Integers(const std::string& name) const;

 private:
  const SavedState& saved_;
};

}  // namespace tpuest
