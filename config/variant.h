#pragma once
// Finds which of a variant's types a node is, from the YAML only, before it is read.

#include <string>
#include <string_view>
#include <vector>

#include "config/reflect.h"
#include "config/tree.h"

namespace tpuest::config {

// The alternatives of one kind, by index into variant.alternatives.
[[nodiscard]] std::vector<size_t> AlternativesOf(const Type& variant, Type::Kind kind);

// The index of the struct with that kType or alias, or the number of alternatives.
[[nodiscard]] size_t NamedAlternative(const Type& variant, std::string_view name);

// The kTypes of the structs, in the order of the alternatives.
[[nodiscard]] std::vector<std::string> TypeNames(const Type& variant);

// Returns the key that distinguishes the structs; empty if none has a kType.
[[nodiscard]] std::string_view TypeKey(const Type& variant);

// Returns the alternatives for a map without a type key: the structs without a kType, or the maps.
// A node whose values are all maps, and that has no key of such a struct, is a map.
[[nodiscard]] std::vector<size_t> UntypedAlternatives(const Type& variant, const Node& node);

// Returns the alternatives with keys that the node can be read as; empty if it names an unknown
// type.
[[nodiscard]] std::vector<size_t> AlternativesFor(const Type& variant, const Node& node);

}  // namespace tpuest::config
