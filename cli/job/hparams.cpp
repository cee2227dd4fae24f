#include "cli/job/hparams.h"

#include <algorithm>

#include "config/scalars.h"
#include "config/substitute.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using config::Node;

constexpr std::string_view kSections[] = {"train_batch_size", "params", "model", "optimizer"};

HParam ValueOf(const config::Tree& tree, const Node& scalar) {
  const config::Substituted value = config::Substitute(tree, scalar.text);
  if (!scalar.quoted || value.changed) {
    if (value.text == "true" || value.text == "false") return value.text == "true";
    if (const auto number = config::ParseNumber(value.text)) return *number;
  }
  return value.text;
}

bool HasScalarsAlone(const Node& list) {
  return std::all_of(list.children.begin(), list.children.end(),
                     [](const Node& child) { return child.kind == Node::Kind::kScalar; });
}

void Add(const config::Tree& tree, const Node& node, const std::string& path, HParams& to) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return;
    case Node::Kind::kScalar:
      to[path] = ValueOf(tree, node);
      return;
    case Node::Kind::kMap:
      for (const Node& child : node.children) Add(tree, child, path + "." + child.key, to);
      return;
    case Node::Kind::kList: {
      if (!HasScalarsAlone(node)) return;
      std::vector<std::string> items;
      for (const Node& child : node.children) items.push_back(child.text);
      to[path] = fmt::format("[{}]", Join(items, ", "));
    }
  }
}

}  // namespace

HParams HParamsOf(const config::Tree& tree) {
  HParams hparams;
  for (const std::string_view section : kSections) {
    if (const Node* const node = tree.root.Find(section))
      Add(tree, *node, std::string(section), hparams);
  }
  return hparams;
}

}  // namespace tpuest::cli
