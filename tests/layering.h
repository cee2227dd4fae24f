#pragma once
// Holds the tree to its stack: a folder includes and links only folders of lower rank, a library is
// seen only by the folders that wrap it, and nothing stands where the layout has no place for it.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tpuest {

// A file of the tree.
struct Source {
  std::string path;  // path from the root, "core/base/text.h"
  std::string text;  // empty for what people do not write by hand
};

// The files below the root but for the top-level names that .gitignore has.
[[nodiscard]] std::vector<Source> ReadTree(const std::string& root);

// The files of this tree, read once.
[[nodiscard]] const std::vector<Source>& Tree();

// The folders of the stack, each with its rank.
[[nodiscard]] const std::map<std::string, double, std::less<>>& Ranks();

// Each check below returns a line a fault, "config/job.cpp:12: config (6) may not include data
// (8)".

// Checks #include lines. A header hands on the libraries that it includes, so that these are held
// to their folders through any number of our own headers.
[[nodiscard]] std::vector<std::string> IncludeFaults(const std::vector<Source>& tree);

// Checks the dependencies of the Meson files: ours by rank, libraries by folder.
[[nodiscard]] std::vector<std::string> LinkFaults(const std::vector<Source>& tree);

// Checks names at the top level, folders below a ranked folder, and folders of tests/ for a
// counterpart.
[[nodiscard]] std::vector<std::string> LayoutFaults(const std::vector<Source>& tree);

// Finds folders of the stack with too many files, or with too many of one prefix
// other than the folder's own name.
[[nodiscard]] std::vector<std::string> SizeFaults(const std::vector<Source>& tree);

// Finds files too long to have one subject, and notes of unfinished work.
[[nodiscard]] std::vector<std::string> HygieneFaults(const std::vector<Source>& tree);

}  // namespace tpuest
