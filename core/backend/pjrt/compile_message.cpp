#include "core/backend/pjrt/compile_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/text.h"

namespace tpuest {
namespace {

// Maximum number of tensors in a message; enough to find the layer.
constexpr size_t kListed = 8;

// The text between two marks after position `from`, which moves past it; nullopt if a mark is
// missing.
std::optional<std::string_view> Between(std::string_view text, std::string_view open,
                                        std::string_view close, size_t& from) {
  const size_t start = text.find(open, from);
  if (start == std::string_view::npos) return std::nullopt;
  const size_t end = text.find(close, start + open.size());
  if (end == std::string_view::npos) return std::nullopt;
  from = start + open.size();
  return text.substr(from, end - from);
}

std::optional<std::string_view> Between(std::string_view text, std::string_view open,
                                        std::string_view close) {
  size_t from = 0;
  return Between(text, open, close, from);
}

// Reads "20.31G", "390.0K", "512B" in units of 1024; 0 for anything else.
int64_t BytesOf(std::string_view text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::string_view kUnits = "BKMGT";
  const size_t power = unit.empty() ? std::string_view::npos : kUnits.find(unit[0]);
  if (power == std::string_view::npos) return 0;
  return static_cast<int64_t>(number * static_cast<double>(int64_t{1} << (10 * power)));
}

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \n"));
}

// Reads an entry of libtpu's list: "1. Size: 2.00G", then lines of "Operator: op_name=...", "Shape:
// ...".
LargeTensor ReadEntry(std::string_view entry, const HloLocations& locations) {
  LargeTensor tensor;
  tensor.bytes = BytesOf(FirstWord(entry));
  tensor.of.node = std::string(Between(entry, "op_name=\"", "\"").value_or(""));
  if (const NodePlace* const known = locations.OfNode(tensor.of.node)) tensor.of = *known;
  if (const auto shape = Between(entry, "Shape: ", "\n")) {
    // The layout follows the shape in braces.
    tensor.shape = std::string(shape->substr(0, shape->find('{')));
  }
  return tensor;
}

// An entry reaches from one " Size: " to the next.
std::vector<LargeTensor> ReadEntries(std::string_view message, const HloLocations& locations) {
  constexpr std::string_view kSize = " Size: ";
  std::vector<LargeTensor> entries;
  const size_t list = message.find("Largest program allocations in hbm");
  if (list == std::string_view::npos) return entries;
  size_t at = message.find(kSize, list);
  while (at != std::string_view::npos && entries.size() < kListed) {
    at += kSize.size();
    const size_t next = message.find(kSize, at);
    entries.push_back(ReadEntry(message.substr(at, next - at), locations));
    at = next;
  }
  return entries;
}

// Writes "20.31 GiB", "1.5 MiB".
std::string SizeText(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1 << 30) return fmt::format("{:.2f} GiB", number / (1 << 30));
  return fmt::format("{:.1f} MiB", number / (1 << 20));
}

// The node of a line of the module that the message is about: "-:12:5: error".
const NodePlace* NodeOfLine(std::string_view message, const HloLocations& locations) {
  size_t from = 0;
  while (const auto number = Between(message, "-:", ":", from)) {
    int line = 0;
    std::from_chars(number->data(), number->data() + number->size(), line);
    if (const NodePlace* const node = locations.OfLine(line)) return node;
  }
  return nullptr;
}

}  // namespace

std::optional<NodePlace> FindNode(std::string_view message, std::string_view module) {
  const HloLocations locations(module);
  struct Marks {
    std::string_view open, close;
  };
  // The marks of an operation's metadata, of XLA's "job.yaml:12:5 [node]", of MLIR's own locations.
  constexpr Marks kMarks[] = {{"op_name=\"", "\""}, {" [", "]"}, {"loc(\"", "\""}};
  // Any bracketed text matches a mark; only a node's name counts. Returns the node that the message
  // names first.
  const NodePlace* first = nullptr;
  size_t first_at = std::string_view::npos;
  for (const Marks& marks : kMarks) {
    size_t at = 0;
    while (const auto name = Between(message, marks.open, marks.close, at)) {
      if (at >= first_at) break;
      const NodePlace* const node = locations.OfNode(*name);
      if (node == nullptr) continue;
      first = node;
      first_at = at;
    }
  }
  if (first == nullptr) first = NodeOfLine(message, locations);
  if (first == nullptr) return std::nullopt;
  return *first;
}

std::optional<MemoryShortage> FindShortage(std::string_view message, std::string_view module) {
  MemoryShortage shortage;
  // "Ran out of memory on HBM, the total memory required for HLO temporaries (20.31G) exceeds
  // available HBM (15.75G)" and "Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm."
  if (const auto available = Between(message, "exceeds available HBM (", ")")) {
    shortage.available = BytesOf(*available);
    const std::string_view before = message.substr(0, message.find(") exceeds available HBM"));
    shortage.needed = BytesOf(before.substr(before.rfind('(') + 1));
  } else if (const auto used = Between(message, "memory space hbm. Used ", " hbm")) {
    shortage.needed = BytesOf(FirstWord(*used));
    shortage.available = BytesOf(used->substr(used->rfind(' ') + 1));
  } else {
    return std::nullopt;
  }
  shortage.largest = ReadEntries(message, HloLocations(module));
  if (shortage.largest.empty()) shortage.largest = LargestTensors(module, kListed);
  return shortage;
}

// Keeps the largest value of each node: its other values are parts of the same computation.
std::vector<LargeTensor> LargestTensors(std::string_view module, size_t count) {
  const HloLocations locations(module);
  std::map<std::string, LargeTensor> by_node;
  for (const HloScanned& value : ScanHloValues(module)) {
    LargeTensor tensor;
    tensor.bytes = value.bytes;
    tensor.shape = value.shape;
    if (const NodePlace* const of = locations.OfAlias(value.location)) tensor.of = *of;
    LargeTensor& largest = by_node[tensor.of.node];
    if (largest.bytes < tensor.bytes) largest = std::move(tensor);
  }
  std::vector<LargeTensor> tensors;
  for (auto& [node, tensor] : by_node) tensors.push_back(std::move(tensor));
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const LargeTensor& a, const LargeTensor& b) { return a.bytes > b.bytes; });
  tensors.resize(std::min(tensors.size(), count));
  return tensors;
}

Error ShortageError(std::string_view what, const MemoryShortage& shortage) {
  std::vector<Fault> faults;
  faults.push_back({fmt::format("{}: needs {} of a core's {}", what, SizeText(shortage.needed),
                                SizeText(shortage.available)),
                    "use a smaller batch or model, or a TPU with more memory",
                    "",
                    {},
                    0});
  for (const LargeTensor& tensor : shortage.largest) {
    faults.push_back(
        {fmt::format("{}: {}, {}", tensor.of.node, tensor.shape, SizeText(tensor.bytes)), "", "",
         tensor.of.place, 0});
  }
  return {Code::kGate, std::move(faults)};
}

}  // namespace tpuest
