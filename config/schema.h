#pragma once
// Lists every key that a struct can be given, for help, for JSON Schema and for "did you mean".

#include <string>
#include <string_view>
#include <vector>

#include "config/reflect.h"
#include "config/tree.h"

namespace tpuest::config {

// One key: where it stands, what it takes, what it means.
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
  bool changes_bits = true;  // false where its field, or one that it is below, says so
};

// The key of a member that stands at a path.
[[nodiscard]] SchemaKey KeyOf(const Member& member, std::string path);

// The keys in the order of Visit, a section before its keys. A struct inside itself is listed once.
[[nodiscard]] std::vector<SchemaKey> SchemaOf(const Value& defaults);

template <class T>
[[nodiscard]] std::vector<SchemaKey> Schema() {
  T defaults{};
  return SchemaOf(ValueOf(defaults));
}

// The sections that have a key of this name, as the paths of SchemaOf, in its order.
[[nodiscard]] std::vector<std::string> SectionsWithKey(const Type& root, std::string_view key);

// A key that this job has or could have.
struct ConcreteKey {
  std::string path;
  std::string help;  // "" for a name that the job gives
};
// As SchemaOf, but with the names, list items and types that stand in the tree.
[[nodiscard]] std::vector<ConcreteKey> ConcreteKeys(const Tree& tree, const Value& defaults);

// Whether null stands for an option that is empty where it is left out: `hooks:` with nothing below
// it is as good as no `hooks:`. So for lists and formulas with no default; the value is the
// default.
[[nodiscard]] bool NullIsEmpty(const Value& value, const Field& field);

// The type as a message says what was expected: "an integer", "a number or a section", "one of 'a',
// 'b'".
[[nodiscard]] std::string TypeText(const Type& type, const Field& field);

}  // namespace tpuest::config
