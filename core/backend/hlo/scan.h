#pragma once
// Parses a module's text, as HloBuilder writes it, into its values and the nodes that they belong
// to.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

struct NodePlace {
  std::string node;
  Place place;  // in the job; line 0: unknown
};

// The locations of a module. The text outlives this object.
class HloLocations {
 public:
  explicit HloLocations(std::string_view module);
  // Finds a location by its alias ("#loc3"), by a node's name, or by a line number (from 1);
  // nullptr if there is none.
  [[nodiscard]] const NodePlace* OfAlias(std::string_view alias) const;
  [[nodiscard]] const NodePlace* OfNode(std::string_view node) const;
  [[nodiscard]] const NodePlace* OfLine(int line) const;

 private:
  std::vector<std::string_view> lines_;
  std::map<std::string, NodePlace, std::less<>> aliases_;
  std::map<std::string, const NodePlace*, std::less<>> nodes_;
};

// An argument of the module or a result of an operation.
struct HloScanned {
  int64_t bytes = 0;
  std::string shape;          // "f32[1024,512]"
  std::string_view location;  // "#loc3" or ""
};

// The module's values in textual order, without constants, broadcasts and reshapes.
[[nodiscard]] std::vector<HloScanned> ScanHloValues(std::string_view module);

}  // namespace tpuest
