#pragma once
// The contents of a job, from the declarations of its options (core/base/visit.h): the types of its
// sections by kind, each with its keys, and the keys of the job itself.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace tpuest::cli {

// A kind of types: the types that one key of the job, or several with the same meaning, may have.
struct Kind {
  std::string_view name;     // "layers", as `tpuest ls` takes it
  std::string_view one;      // "layer"
  std::string_view summary;  // a phrase
};

// A section with a `type:`, or with another key that identifies its type.
struct TypeEntry {
  std::string_view kind;                // a Kind's name
  std::string name;                     // "conv2d"
  std::vector<std::string> aliases;     // "Conv2D"
  std::string summary;                  // a phrase
  std::string type_key;                 // "type"; "op" of map ops
  std::vector<std::string> places;      // the first keys of the job that may have it
  std::vector<config::SchemaKey> keys;  // paths from the section on; without those of other types
};

struct Catalog {
  std::vector<TypeEntry> types;         // by kind, and there in alphabetical order
  std::vector<config::SchemaKey> keys;  // of the job, without those of types; in its order
};

// All kinds, in the order of a manual.
[[nodiscard]] std::span<const Kind> Kinds();
// The kind of that name; nullptr: there is none.
[[nodiscard]] const Kind* FindKind(std::string_view name);

// Returns the kind of the types that a key of that name may have; nullptr if none.
[[nodiscard]] const Kind* KindHeldBy(std::string_view key);

// Built at the first call, in a few milliseconds.
[[nodiscard]] const Catalog& JobCatalog();
// Returns the types of a kind.
[[nodiscard]] std::vector<const TypeEntry*> TypesOf(const Kind& kind);

}  // namespace tpuest::cli
