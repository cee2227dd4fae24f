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
  DType dtype = DType::kInvalid;  // a fixed type, or
  std::string type_attr;          // the attribute that holds it, or
  std::string type_list_attr;     // the list attribute that holds one type a tensor
  std::string number_attr;        // how many tensors; empty: one
};

// An attribute and its domain: the values that a node may give it.
struct AttrDef {
  std::string name;
  std::string type;                // "type", "int", "list(int)", "string", ...
  std::vector<DType> allowed;      // dtypes; empty: any but resource
  bool takes_resource = false;     // that one, too
  std::vector<std::string> words;  // strings; empty: any
  std::optional<int64_t> least;    // an int, or the length of a list
  std::optional<int64_t> most;
  std::optional<AttrValue> default_value;

  // Empty, or what is wrong with the value: "padding is 'FULL', expected SAME or VALID".
  [[nodiscard]] std::string FaultOf(const AttrValue& value) const;
};

struct Signature {
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;

  [[nodiscard]] const AttrDef* FindAttr(std::string_view name) const;
};

// Check fails on a malformed signature: it is our own text.
[[nodiscard]] Signature ParseSignature(std::string_view op, std::string_view text);

}  // namespace tpuest
