#pragma once
// Lists every key of a struct, for help, for JSON Schema and for "did you mean".

#include <string>
#include <string_view>
#include <vector>

#include "config/reflect.h"
#include "config/tree.h"

namespace tpuest::config {

// One key: its path, its type and its meaning.
struct SchemaKey {
  // The key path: "run_config.tpu_config.num_shards", "input_fns.<name>.repeat",
  // "model.layers[].units".
  std::string path;
  // The value of `type:` that has this key, for the options of a variant's struct.
  std::string of_type;
  // The type as TypeText says it: "an integer", "a number or a section with 'type'".
  std::string type;
  std::string default_text;  // YAML flow text; empty for sections and required keys
  std::string help;
  std::vector<std::string> values;  // allowed words, of a string or of `type:`
  bool required = false;
  bool tpuest = false;       // not TensorFlow's own word
  bool changes_bits = true;  // false if its field or a field above it says so
};

// Returns the key of a member at a path.
[[nodiscard]] SchemaKey KeyOf(const Member& member, std::string path);

// The keys in the order of Visit, a section before its keys. A struct inside itself is listed once.
[[nodiscard]] std::vector<SchemaKey> SchemaOf(const Value& defaults);

template <class T>
[[nodiscard]] std::vector<SchemaKey> Schema() {
  T defaults{};
  return SchemaOf(ValueOf(defaults));
}

// Returns the sections that have a key of this name, as paths of SchemaOf, in its order.
[[nodiscard]] std::vector<std::string> SectionsWithKey(const Type& root, std::string_view key);

// A key that this job has or could have.
struct ConcreteKey {
  std::string path;
  std::string help;  // "" for a name that the job gives
};
// As SchemaOf, but with the names, list items and types of the tree.
[[nodiscard]] std::vector<ConcreteKey> ConcreteKeys(const Tree& tree, const Value& defaults);

// Returns true if null means the same as omitting the key, such as an empty `hooks:`. This holds
// for lists and formulas without a default; `value` is the default.
[[nodiscard]] bool NullIsEmpty(const Value& value, const Field& field);

// Returns the type as messages name it: "an integer", "a number or a section", "one of 'a', 'b'".
[[nodiscard]] std::string TypeText(const Type& type, const Field& field);

}  // namespace tpuest::config
