#pragma once
// An OpDef's signature, parsed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr.h"

namespace tpuest {

struct ArgDef {
  std::string name;
  DType dtype = DType::kInvalid;  // a fixed type,
  std::string type_attr;          // or the attribute that holds it,
  std::string type_list_attr;     // or the list attribute that holds one type per tensor
  std::string number_attr;        // the attribute that holds the number of tensors; empty: one
};

// An attribute and its domain, the values that a node may give it.
struct AttrDef {
  std::string name;
  std::string type;                // "type", "int", "list(int)", "string", ...
  std::vector<DType> allowed;      // allowed dtypes; empty: any except resource
  bool takes_resource = false;     // allows resource as well
  std::vector<std::string> words;  // allowed strings; empty: any
  std::optional<int64_t> least;    // bound of an int, or of the length of a list
  std::optional<int64_t> most;
  std::optional<AttrValue> default_value;

  // Returns what is wrong with the value, "padding is 'FULL', expected SAME or VALID", or "".
  [[nodiscard]] std::string FaultOf(const AttrValue& value) const;
};

struct Signature {
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;

  [[nodiscard]] const AttrDef* FindAttr(std::string_view name) const;
};

// Parses a signature. Check fails on a malformed one, because signatures are part of the source.
[[nodiscard]] Signature ParseSignature(std::string_view op, std::string_view text);

}  // namespace tpuest
