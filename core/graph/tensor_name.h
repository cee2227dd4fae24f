#pragma once
// A GraphDef names tensors "node" (its output 0), "node:1", "^node" (a control input) and, inside
// functions, "node:argument:0".

#include <optional>
#include <string>
#include <string_view>

#include "core/base/whole_number.h"

namespace tpuest {

struct TensorName {
  std::string_view node;
  std::string_view argument;  // for a function's node; otherwise empty
  int index = 0;              // -1: the name lacks a valid number
  bool control = false;
};

// Parses a tensor name; the result refers to `text`.
[[nodiscard]] inline TensorName ParseTensorName(std::string_view text) {
  TensorName name;
  name.control = text.starts_with('^');
  if (name.control) text.remove_prefix(1);
  const size_t first = text.find(':');
  name.node = text.substr(0, first);
  if (first == std::string_view::npos) return name;
  const size_t last = text.rfind(':');
  if (last != first) name.argument = text.substr(first + 1, last - first - 1);
  const std::string_view number = text.substr(last + 1);
  const auto index = WholeNumber<decltype(name.index)>(number);
  if (index) name.index = *index;
  // "argument" without a number is its output 0, as in a function's `ret`.
  if (!index && last == first && !number.empty()) {
    name.argument = number;
    name.index = 0;
  } else if (!index || name.index < 0) {
    name.index = -1;
  }
  return name;
}

// "node" or "node:1".
[[nodiscard]] inline std::string TensorText(std::string_view node, int index) {
  std::string text(node);
  if (index != 0) text += ":" + std::to_string(index);
  return text;
}

}  // namespace tpuest
