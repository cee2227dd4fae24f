#pragma once
// The job as it was written: a tree of nodes with their origins.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace tpuest::config {

// The origin of a value. `text` is for readers: "default", "command line", "--model-dir"; it is
// empty for files, for which the node has a place.
struct Origin {
  enum class Kind { kDefault, kJobFile, kBaseFile, kOverride };
  Kind kind = Kind::kDefault;
  std::string text = "default";
};

// A value that a later layer has overridden.
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
  int width = 0;        // characters on its first line
  std::string key;      // inside a map
  Place key_place;      // inside a map
  int key_width = 0;
  Origin origin;
  std::vector<Node> children;    // of a list or map, in the order written
  std::vector<Covered> earlier;  // overridden values, the lowest first

  // The child of a map with that key, or nullptr.
  [[nodiscard]] const Node* Find(std::string_view name) const;
  [[nodiscard]] Node* Find(std::string_view name);
};

// Returns the origin of a node's value for readers: "job.yaml:14", "command line".
[[nodiscard]] std::string OriginText(const Node& node);

// A name that a job lacks but users know from elsewhere. Unknown keys of such a name are reported
// with what to do instead (key_check.cpp). Values null and "" pass silently.
struct OtherKey {
  // The sections that would have the key, separated by spaces: key paths, in which * is any step
  // ("" is the top level), and names of types.
  std::string_view sections;
  std::string_view key;
  std::string_view answer;
  // Ignoring the key loses nothing: it is ignored with a note.
  bool is_accepted = false;
};

struct OtherType {
  std::string_view name;
  std::string_view answer;
};

struct OtherNames {
  std::span<const OtherKey> keys = {};
  std::span<const OtherType> types = {};

  // Returns the key for a section at that path and of that type ("" for none), or nullptr.
  [[nodiscard]] const OtherKey* Find(const std::vector<std::string>& section, std::string_view type,
                                     std::string_view key) const;
  // Returns the answer for a type's name; "" if it has none.
  [[nodiscard]] std::string_view AnswerTo(std::string_view type) const;
};

// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
[[nodiscard]] std::optional<std::string> ProcessEnvironment(const std::string& name);

// A job's document, and other names that its variables may use.
struct Tree {
  Node root;
  // Values of ${NAME} that the job does not set, used before the environment: `name`.
  std::map<std::string, std::string> names;
  Environment environment = ProcessEnvironment;
  OtherNames others;               // names that the job does not have
  std::vector<std::string> notes;  // logged when the job runs
};

// The span that a fault points at: a place and how many characters to underline.
struct Span {
  Place place;
  int width = 0;
};

// The steps of a key path: "hooks[1].type" and "hooks.1.type" are hooks, 1, type.
[[nodiscard]] std::vector<std::string> PathSteps(std::string_view path);

// The node at a key path, or nullptr. Also finds keys that contain dots.
[[nodiscard]] const Node* FindNode(const Tree& tree, std::string_view path);

// Returns the span of a key path: a scalar's value, or the key of a section or list; for a path
// that is not in the job, its nearest parent; nullopt if no part of it is in the job.
[[nodiscard]] std::optional<Span> FindPlace(const Tree& tree, std::string_view path);

// Adds places to faults that name only a key; the place is just the job's file if no part of the
// key is in it.
void Locate(const Tree& tree, std::vector<Fault>& faults);

// Returns the path of a file that another file names: relative to that file's folder, unless
// absolute.
[[nodiscard]] std::string PathBeside(const std::string& file, const std::string& name);

// Sorts faults by the job's lines, then the command line's.
void SortByPlace(std::vector<Fault>& faults);

// Removes repeated faults of a place: a section that is merged into others is checked in each.
void DropRepeated(std::vector<Fault>& faults);

}  // namespace tpuest::config
