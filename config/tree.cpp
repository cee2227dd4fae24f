#include "config/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include "config/diagnostics.h"

namespace tpuest::config {
namespace {

// A list index at the start of a path, and its number of bytes: "[1].type", "1.type".
struct Index {
  size_t value = 0;
  size_t bytes = 0;
};

std::optional<Index> IndexAt(std::string_view path) {
  const bool bracket = path.starts_with('[');
  const std::string_view digits = path.substr(bracket ? 1 : 0);
  Index index;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), index.value);
  if (error != std::errc()) return std::nullopt;
  index.bytes = static_cast<size_t>(end - path.data());
  if (bracket) {
    if (index.bytes == path.size() || path[index.bytes] != ']') return std::nullopt;
    ++index.bytes;
  }
  return index;
}

// The path after one step of `bytes` bytes; nullopt if no step ends there.
std::optional<std::string_view> After(std::string_view path, size_t bytes) {
  path.remove_prefix(bytes);
  if (path.empty() || path.starts_with('[')) return path;
  if (path.starts_with('.') && path.size() > 1) return path.substr(1);
  return std::nullopt;
}

struct Found {
  const Node* node = nullptr;
  std::string_view rest;  // the part that is not in the tree
};

// Returns the node at the longest part of the path that is in the tree.
Found Descend(const Node& node, std::string_view path) {
  Found best{&node, path};
  if (path.empty()) return best;
  if (node.kind == Node::Kind::kList) {
    const std::optional<Index> index = IndexAt(path);
    if (!index || index->value >= node.children.size()) return best;
    const std::optional<std::string_view> rest = After(path, index->bytes);
    return rest ? Descend(node.children[index->value], *rest) : best;
  }
  // A key may contain dots, so every child whose key starts the path is tried.
  for (const Node& child : node.children) {
    if (child.key.empty() || !path.starts_with(child.key)) continue;
    const std::optional<std::string_view> rest = After(path, child.key.size());
    if (!rest) continue;
    const Found found = Descend(child, *rest);
    if (found.rest.size() < best.rest.size()) best = found;
  }
  return best;
}

Span SpanOf(const Node& node) {
  const bool value = node.kind == Node::Kind::kScalar || node.key_place.line == 0;
  if (value) return {node.place, node.width};
  return {node.key_place, node.key_width};
}

// Returns true for a "file" of arguments, which sort after files.
bool IsArgument(const std::string& file) { return file == kCommandLine || file.starts_with("--"); }

}  // namespace

const Node* Node::Find(std::string_view name) const {
  if (kind != Kind::kMap) return nullptr;
  const auto child = std::find_if(children.begin(), children.end(),
                                  [&](const Node& node) { return node.key == name; });
  return child == children.end() ? nullptr : &*child;
}

Node* Node::Find(std::string_view name) {
  return const_cast<Node*>(std::as_const(*this).Find(name));
}

std::string OriginText(const Node& node) {
  if (node.origin.kind == Origin::Kind::kOverride) return node.origin.text;
  const Place& place = node.key_place.line != 0 ? node.key_place : node.place;
  return fmt::format("{}:{}", place.file, place.line);
}

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> PathSteps(std::string_view path) {
  std::vector<std::string> steps;
  std::string step;
  for (const char c : path) {
    if (c == '.' || c == '[') {
      if (!step.empty()) steps.push_back(std::move(step));
      step.clear();
    } else if (c != ']') {
      step += c;
    }
  }
  if (!step.empty()) steps.push_back(std::move(step));
  return steps;
}

const Node* FindNode(const Tree& tree, std::string_view path) {
  const Found found = Descend(tree.root, path);
  return found.rest.empty() ? found.node : nullptr;
}

std::optional<Span> FindPlace(const Tree& tree, std::string_view path) {
  const Found found = Descend(tree.root, path);
  if (found.node == &tree.root && !path.empty()) return std::nullopt;
  return SpanOf(*found.node);
}

void Locate(const Tree& tree, std::vector<Fault>& faults) {
  for (Fault& fault : faults) {
    if (fault.place.line != 0 || !fault.place.file.empty() || fault.key.empty()) continue;
    const Span in_file{Place{tree.root.place.file, 0, 0}, 0};
    const Span span = FindPlace(tree, fault.key).value_or(in_file);
    fault.place = span.place;
    fault.width = span.width;
  }
}

std::string PathBeside(const std::string& file, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? name : (folder / name).lexically_normal().string();
}

void SortByPlace(std::vector<Fault>& faults) {
  const auto order = [](const Fault& fault) {
    return std::tuple(IsArgument(fault.place.file), fault.place.line, fault.place.column);
  };
  std::stable_sort(faults.begin(), faults.end(),
                   [&](const Fault& a, const Fault& b) { return order(a) < order(b); });
}

void DropRepeated(std::vector<Fault>& faults) {
  std::set<std::string> seen;
  std::erase_if(faults, [&](const Fault& fault) {
    const Place& place = fault.place;
    return place.line > 0 && !seen.insert(fmt::format("{}:{}:{}: {}", place.file, place.line,
                                                      place.column, fault.message))
                                  .second;
  });
}

}  // namespace tpuest::config
