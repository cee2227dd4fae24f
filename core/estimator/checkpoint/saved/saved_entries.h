#pragma once
// The entries of a checkpoint in memory, wherever each is: in memory, or left on the disk.

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

  // nullopt: there is none of this dtype.
  [[nodiscard]] std::optional<Shape> ShapeOf(const std::string& name, DType dtype) const;
  // Gives the values in pieces, rows that were dealt out by mod in their order.
  void Read(const std::string& name, const TakeBytesFn& take) const;
  // Those of an entry of int64.
  [[nodiscard]] std::vector<int64_t> Integers(const std::string& name) const;

 private:
  const SavedState& saved_;
};

}  // namespace tpuest
