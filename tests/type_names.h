#pragma once
// Holds types to one name and classes to one subject: a namespace defines a name once, so that any
// two headers can be included together, and no body of a class is long.

#include <set>
#include <string>
#include <vector>

#include "tests/layering.h"

namespace tpuest {

// Each check below returns a line per fault.

// Finds classes, structs, unions, enums and aliases that two files define in the same namespace.
// Anonymous namespaces, forward declarations and specializations define no name.
[[nodiscard]] std::vector<std::string> TypeNameFaults(const std::vector<Source>& tree);

// Finds classes of more than 250 lines that `exceptions` does not list, and exceptions that are no
// longer needed. An exception is a path and a name, "models/blocks/expand.cpp BlockWriter".
[[nodiscard]] std::vector<std::string> LongClassFaults(
    const std::vector<Source>& tree, const std::set<std::string, std::less<>>& exceptions);

}  // namespace tpuest
