#include "core/backend/hlo/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr auto kNone = std::string_view::npos;

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// Removes a quoted string from the start of `text` and returns it. MLIR escapes non-printable bytes
// as a backslash and two hexadecimal digits.
std::string TakeQuoted(std::string_view& text) {
  std::string result;
  size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\' || i + 2 >= text.size()) {
      result.push_back(text[i]);
      continue;
    }
    unsigned code = 0;
    std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
    result.push_back(static_cast<char>(code));
    i += 2;
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return result;
}

int TakeNumber(std::string_view& text) {
  int number = 0;
  text.remove_prefix(1);  // ':'
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// Reads "\"dense/MatMul\"(\"job.yaml\":12:5))"; without a place the line is 0.
NodePlace ReadLocation(std::string_view text) {
  NodePlace result;
  result.node = TakeQuoted(text);
  if (!StartsWith(text, "(\"")) return result;
  text.remove_prefix(1);
  result.place.file = TakeQuoted(text);
  result.place.line = TakeNumber(text);
  result.place.column = TakeNumber(text);
  return result;
}

// Finds "#loc3" in the last " loc(#loc3)".
std::string_view LocationIn(std::string_view text) {
  constexpr std::string_view kOpen = " loc(#";
  const size_t at = text.rfind(kOpen);
  if (at == kNone) return "";
  const size_t start = at + kOpen.size() - 1;
  return text.substr(start, text.find(')', start) - start);
}

// The bytes of "f32", "bf16", "ui8", "i1": the digits are bits.
int64_t SizeOfElement(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  int64_t bits = 0;
  if (digits != kNone) {
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  }
  return std::max<int64_t>(1, bits / 8);  // a bool takes a byte
}

// Reads "2x3xf32". No element type has an "x" in its name.
HloScanned ReadType(std::string_view type) {
  HloScanned value{1, "", ""};
  std::vector<std::string> parts = Split(type, 'x');
  const std::string element = parts.back();
  parts.pop_back();
  for (const std::string& part : parts) {
    int64_t dim = 0;
    std::from_chars(part.data(), part.data() + part.size(), dim);
    value.bytes *= dim;
  }
  value.bytes *= SizeOfElement(element);
  value.shape = fmt::format("{}[{}]", element, Join(parts, ","));
  return value;
}

// Adds a value for each tensor<...> in a text; a location at the text's end applies to all of them.
void ReadTypes(std::string_view text, std::vector<HloScanned>& values) {
  constexpr std::string_view kOpen = "tensor<";
  const std::string_view location = LocationIn(text);
  for (size_t at = text.find(kOpen); at != kNone; at = text.find(kOpen, at)) {
    at += kOpen.size();
    values.push_back(ReadType(text.substr(at, text.find('>', at) - at)));
    values.back().location = location;
  }
}

// "func.func public @main(%arg0: tensor<...> loc(#loc0), ...) -> (...) {": each argument has its
// own location, so the line is read piece by piece.
void ReadArguments(std::string_view line, std::vector<HloScanned>& values) {
  constexpr std::string_view kName = "%arg";
  const size_t end = line.find(") -> (");
  for (size_t at = line.find(kName); at < end; at = line.find(kName, at)) {
    at += kName.size();
    const size_t next = std::min(line.find(kName, at), end);
    ReadTypes(line.substr(at, next - at), values);
  }
}

// Finds "add" in "%3 = \"stablehlo.add\"(...".
std::string_view OperationOf(std::string_view line) {
  constexpr std::string_view kPrefix = "\"stablehlo.";
  const size_t start = line.find(kPrefix) + kPrefix.size();
  return line.substr(start, line.find('"', start) - start);
}

// False for operations whose results a compiler certainly computes at their use, and for a loop,
// whose state is counted at its origin.
bool IsKept(std::string_view operation) {
  constexpr std::string_view kNot[] = {"constant", "iota",  "broadcast_in_dim", "reshape",
                                       "convert",  "while", "transpose"};
  return std::find(std::begin(kNot), std::end(kNot), operation) == std::end(kNot);
}

}  // namespace

HloLocations::HloLocations(std::string_view module) : lines_(LinesOf(module)) {
  for (const std::string_view line : lines_) {
    constexpr std::string_view kIs = " = loc(";
    const size_t is = line.find(kIs);
    if (!StartsWith(line, "#loc") || is == kNone) continue;
    aliases_.emplace(line.substr(0, is), ReadLocation(line.substr(is + kIs.size())));
  }
  for (const auto& [alias, node] : aliases_) nodes_.emplace(node.node, &node);
}

const NodePlace* HloLocations::OfAlias(std::string_view alias) const {
  const auto found = aliases_.find(alias);
  return found == aliases_.end() ? nullptr : &found->second;
}

const NodePlace* HloLocations::OfNode(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second;
}

const NodePlace* HloLocations::OfLine(int line) const {
  if (line < 1 || static_cast<size_t>(line) > lines_.size()) return nullptr;
  return OfAlias(LocationIn(lines_[static_cast<size_t>(line) - 1]));
}

std::vector<HloScanned> ScanHloValues(std::string_view module) {
  std::vector<HloScanned> values;
  // Operations whose regions are open: their types follow the end of the last region.
  std::vector<std::string_view> open;
  for (std::string_view line : LinesOf(module)) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (StartsWith(line, "func.func")) ReadArguments(line, values);
    const bool ends_region = StartsWith(line, "\"stablehlo.return\"");
    if (!StartsWith(line, "%") && !ends_region) continue;
    const bool begins_region = EndsWith(line, ":");
    if (begins_region && !ends_region) open.push_back(OperationOf(line));
    if (begins_region) continue;
    std::string_view operation = OperationOf(line);
    if (ends_region) {
      if (open.empty()) continue;
      operation = open.back();
      open.pop_back();
    }
    const size_t types = line.rfind(" -> ");
    if (IsKept(operation) && types != kNone) ReadTypes(line.substr(types), values);
  }
  return values;
}

}  // namespace tpuest
