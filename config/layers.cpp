#include "config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "config/flow_text.h"
#include "config/yaml_reader.h"
#include "core/base/path_scheme.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

constexpr std::string_view kBaseKey = "base";

// Sections of different types have no keys of the same meaning.
bool SameType(const Node& a, const Node& b) {
  const Node* const type_a = a.Find("type");
  const Node* const type_b = b.Find("type");
  return type_a == nullptr || type_b == nullptr || type_a->text == type_b->text;
}

// The keys that select a source's records, and the keys that describe their contents.
constexpr std::array<std::string_view, 9> kRecords = {"filenames", "file_pattern", "file",
                                                      "arrays",    "directory",    "images",
                                                      "command",   "query",        "type"};
constexpr std::array<std::string_view, 3> kContents = {"features", "parse_example",
                                                       "parse_sequence_example"};

// Returns true if the source above reads other records than the source below.
bool ReadsOthers(const Node& below, const Node& above) {
  return std::any_of(kRecords.begin(), kRecords.end(), [&](std::string_view key) {
    const Node* const upper = above.Find(key);
    const Node* const lower = below.Find(key);
    return upper != nullptr && (lower == nullptr || FlowText(*lower) != FlowText(*upper));
  });
}

// Returns true if the section above, an input or its source, reads other records than the section
// below, so that their features must not be merged.
bool IsOfOtherRecords(const Node& below, const Node& above) {
  const Node* const upper = above.Find("source");
  const Node* const lower = below.Find("source");
  if (upper != nullptr && lower != nullptr) return ReadsOthers(*lower, *upper);
  return above.Find("features") != nullptr && ReadsOthers(below, above);
}

bool IsOne(const Node& section, const OneOrNamed& of) {
  return section.kind == Node::Kind::kMap && section.Find(of.mark) != nullptr;
}

bool IsNamed(const Node& section, const OneOrNamed& of) {
  return section.kind == Node::Kind::kMap && !section.children.empty() && !IsOne(section, of) &&
         std::all_of(section.children.begin(), section.children.end(),
                     [](const Node& child) { return child.kind == Node::Kind::kMap; });
}

// Turns the section into one of several, under its name.
void MakeNamed(Node& section, const OneOrNamed& of) {
  Node one = section;
  const Node* const name = one.Find(of.name);
  const bool has_name = name != nullptr && name->kind == Node::Kind::kScalar && !name->text.empty();
  section.children.clear();
  one.key = has_name ? name->text : std::string(of.default_name);
  if (!has_name) {
    Node none;
    none.kind = Node::Kind::kScalar;
    none.quoted = true;
    none.place = one.place;
    none.key = std::string(of.name);
    none.key_place = one.key_place;
    none.origin = one.origin;
    std::erase_if(one.children, [&](const Node& child) { return child.key == of.name; });
    one.children.push_back(std::move(none));
  }
  section.children.push_back(std::move(one));
}

class LayerReader {
 public:
  LayerReader(Sources& sources, Faults& faults, std::span<const OneOrNamed> one_or_named)
      : sources_(sources), faults_(faults), one_or_named_(one_or_named) {}

  Node Read(std::string_view text, const std::string& file, const Origin& origin) {
    // Absolute, so that a file that is a base of itself is found even if its name is written in two
    // ways.
    open_.push_back(std::filesystem::absolute(file).lexically_normal().string());
    Node root = ParseYaml(text, file, origin, sources_, faults_);
    Node below;
    for (const Node& base : TakeBases(root)) {
      Node next = ReadBase(base, file);
      below = below.kind == Node::Kind::kMap
                  ? Merged(std::move(below), std::move(next), one_or_named_)
                  : std::move(next);
    }
    open_.pop_back();
    const bool has_both = below.kind == Node::Kind::kMap && root.kind == Node::Kind::kMap;
    if (!has_both) return root;
    return Merged(std::move(below), std::move(root), one_or_named_);
  }

 private:
  // Removes the key `base` and returns the files that it names, the lowest first.
  std::vector<Node> TakeBases(Node& root) {
    Node* const found = root.Find(kBaseKey);
    if (found == nullptr) return {};
    // `base` is removed before the layers are merged.
    const Node base = std::move(*found);
    root.children.erase(root.children.begin() + (found - root.children.data()));
    if (base.kind == Node::Kind::kNull) return {};
    std::vector<Node> files = base.kind == Node::Kind::kList ? base.children : std::vector{base};
    const bool are_names = std::all_of(files.begin(), files.end(), [](const Node& node) {
      return node.kind == Node::Kind::kScalar && !node.text.empty();
    });
    if (are_names) return files;
    faults_.Add({"base: expected a file or a list of files", "base: [common.yaml]", "base",
                 base.key_place, base.key_width});
    return {};
  }

  Node ReadBase(const Node& base, const std::string& from) {
    const auto fail = [&](std::string message, std::string hint) {
      return Error(Code::kUsage, std::vector<Fault>{{std::move(message), std::move(hint), "base",
                                                     base.place, base.width}});
    };
    if (const std::optional<SchemeRefusal> refusal = RefusalOfScheme(base.text)) {
      throw fail("base: " + refusal->message, refusal->hint);
    }
    const std::string file = PathBeside(from, base.text);
    if (++read_ > kMostBases) {
      throw fail(fmt::format("the job reads more than {} base files", kMostBases),
                 "a base that several files name counts once for each of them");
    }
    const std::string full = std::filesystem::absolute(file).lexically_normal().string();
    if (std::find(open_.begin(), open_.end(), full) != open_.end()) {
      throw fail(fmt::format("{} is a base of itself", file),
                 "remove `base` from one of the files");
    }
    std::string text;
    try {
      text = ReadJobFile(file);
    } catch (const Error& error) {
      throw fail(error.faults().front().message, error.faults().front().hint);
    }
    return Read(text, file, {Origin::Kind::kBaseFile, ""});
  }

  Sources& sources_;
  Faults& faults_;
  const std::span<const OneOrNamed> one_or_named_;
  static constexpr int kMostBases = 200;
  int read_ = 0;                   // number of base files read
  std::vector<std::string> open_;  // files that are being read, the job's first
};

}  // namespace

Node Merged(Node below, Node above, std::span<const OneOrNamed> one_or_named) {
  for (const OneOrNamed& of : one_or_named) {
    Node* const lower = below.Find(of.key);
    Node* const upper = above.Find(of.key);
    if (lower == nullptr || upper == nullptr) continue;
    if (IsOne(*lower, of) && IsNamed(*upper, of)) MakeNamed(*lower, of);
    if (IsNamed(*lower, of) && IsOne(*upper, of)) MakeNamed(*upper, of);
  }
  const bool maps = below.kind == Node::Kind::kMap && above.kind == Node::Kind::kMap;
  if (!maps || !SameType(below, above)) {
    above.earlier = std::move(below.earlier);
    above.earlier.push_back({FlowText(below), OriginText(below)});
    return above;
  }
  const bool replaces = IsOfOtherRecords(below, above);
  for (Node& child : above.children) {
    Node* const covered = below.Find(child.key);
    if (covered == nullptr) continue;
    const bool is_contents =
        std::find(kContents.begin(), kContents.end(), child.key) != kContents.end();
    if (replaces && is_contents) {
      child.earlier = std::move(covered->earlier);
      child.earlier.push_back({FlowText(*covered), OriginText(*covered)});
    } else {
      child = Merged(std::move(*covered), std::move(child));
    }
    below.children.erase(below.children.begin() + (covered - below.children.data()));
  }
  // The keys of the file above come first, in its order; keys only below follow.
  std::move(below.children.begin(), below.children.end(), std::back_inserter(above.children));
  return above;
}

Node ReadLayers(std::string_view text, const std::string& file, const Origin& origin,
                Sources& sources, Faults& faults, std::span<const OneOrNamed> one_or_named) {
  return LayerReader(sources, faults, one_or_named).Read(text, file, origin);
}

std::string ReadJobFile(const std::string& file) {
  if (const auto other = KindOfOther(file)) {
    throw Error(Code::kUsage, fmt::format("{} is {}", file, *other),
                *other == "a folder" ? "name the job file in it" : "name a file");
  }
  if (!FileExists(file)) {
    const std::string folder = std::filesystem::path(file).parent_path().string();
    std::vector<std::string> names;
    if (folder.empty() || DirectoryExists(folder)) {
      names = ListDirectory(folder.empty() ? "." : folder);
    }
    const std::optional<std::string> near = Nearest(BaseName(file), names);
    const std::string hint =
        near ? fmt::format("did you mean '{}'?", folder.empty() ? *near : JoinPath(folder, *near))
             : "";
    throw Error(Code::kUsage, fmt::format("the file '{}' does not exist", file), hint);
  }
  try {
    return ReadFile(file);
  } catch (const Error& error) {
    throw Error(Code::kUsage, error.faults());
  }
}

}  // namespace tpuest::config
