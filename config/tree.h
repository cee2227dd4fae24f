#pragma once
// The job as it was written: a tree of nodes that know where each came from.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest::config {

// Who gave a value. `text` is what a reader is shown: "default", "command line", "--model-dir";
// for files it is empty and the node's place says more.
struct Origin {
  enum class Kind { kDefault, kJobFile, kBaseFile, kOverride };
  Kind kind = Kind::kDefault;
  std::string text = "default";
};

// A value that another one was put over.
struct Covered {
  std::string text;    // YAML flow text
  std::string origin;  // OriginText
};

// A node of the YAML document. Merge keys and aliases are resolved: each use is a copy, with the
// places of the original.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // of a scalar, quotes and escapes undone
  bool quoted = false;  // a scalar in quotes, or a block scalar: always a string
  Place place;          // of the value
  int width = 0;        // characters it takes on its first line
  std::string key;      // inside a map
  Place key_place;      // inside a map
  int key_width = 0;
  Origin origin;
  std::vector<Node> children;    // of a list or map, in the order written
  std::vector<Covered> earlier;  // what it was put over, the lowest first

  // The child of a map with that key, or nullptr.
  [[nodiscard]] const Node* Find(std::string_view name) const;
  [[nodiscard]] Node* Find(std::string_view name);
};

// The origin of a node's value as a reader is shown it: "job.yaml:14", "command line".
[[nodiscard]] std::string OriginText(const Node& node);

// Names that a job has not, though its users know them from elsewhere: each is answered by what to
// do instead, where unknown ones are reported (key_check.cpp). Null and "" ask for nothing, and
// pass.
struct OtherKey {
  // The sections where it would stand, with spaces between: key paths, where * is any step ("" is
  // the top level), and names of types.
  std::string_view sections;
  std::string_view key;
  std::string_view answer;
  // Nothing that it could say is lost: it is left out, and a note says so.
  bool is_accepted = false;
};

struct OtherType {
  std::string_view name;
  std::string_view answer;
};

struct OtherNames {
  std::span<const OtherKey> keys = {};
  std::span<const OtherType> types = {};

  // The key of a section at that path and of that type ("": of none), or nullptr.
  [[nodiscard]] const OtherKey* Find(const std::vector<std::string>& section, std::string_view type,
                                     std::string_view key) const;
  // The answer to a type's name; "" if there is none.
  [[nodiscard]] std::string_view AnswerTo(std::string_view type) const;
};

// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
[[nodiscard]] std::optional<std::string> ProcessEnvironment(const std::string& name);

// A job's document, and what else its variables may name.
struct Tree {
  Node root;
  // The values that ${NAME} falls back on before the environment, where the job does not say:
  // `name`.
  std::map<std::string, std::string> names;
  Environment environment = ProcessEnvironment;
  OtherNames others;               // of keys and types that there are not
  std::vector<std::string> notes;  // to be told when the job runs
};

// The span that a fault points at: a place and how many characters to underline.
struct Span {
  Place place;
  int width = 0;
};

// The steps of a key path: "hooks[1].type" and "hooks.1.type" are hooks, 1, type.
[[nodiscard]] std::vector<std::string> PathSteps(std::string_view path);

// The node at a key path, or nullptr. A key that holds dots is found too.
[[nodiscard]] const Node* FindNode(const Tree& tree, std::string_view path);

// The span of a key path: a scalar's value, a section's or list's key; the nearest parent that
// stands in the job where the path does not; nullopt where no part of it does.
[[nodiscard]] std::optional<Span> FindPlace(const Tree& tree, std::string_view path);

// Gives faults that name a key but no place their place, or the job's file if no part of the key
// stands in it.
void Locate(const Tree& tree, std::vector<Fault>& faults);

// The path of a file that another one names: beside that one, unless it is absolute.
[[nodiscard]] std::string PathBeside(const std::string& file, const std::string& name);

// Sorts faults in the order of the job's lines, then the command line's.
void SortByPlace(std::vector<Fault>& faults);

// A section that is merged into another is checked in both: what is said of a place is said once.
void DropRepeated(std::vector<Fault>& faults);

}  // namespace tpuest::config
