#pragma once
// Reads the tree into structs: strictly, reporting all faults at once.
//
// Numbers: `010` is refused; `1e4` is an integer and `1/255` a number for keys of these types;
// `.inf` and `.nan` are numbers; true and false are the only booleans; a quoted number is a string.
// ${VAR}, ${VAR:-x}, ${params.NAME} and ${name} (a scalar at the top level) are substituted when a
// value is read, and the result is read as if it were written without quotes; `$${` means a literal
// `${`. Values of Field.input_path are resolved against the folder of their file; paths from the
// command line stay unchanged.

#include <string>
#include <vector>

#include "config/reflect.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Fills the section from the tree; members that the tree does not name keep their values. Adds
// faults with place, width and key path in the order of the lines; after a fault the value must not
// be used. Returns a note for each ignored key of tree.others.
std::vector<std::string> ReadInto(const Tree& tree, const Value& section, Faults& faults);

template <class T>
void Read(const Tree& tree, T& section, Faults& faults) {
  ReadInto(tree, ValueOf(section), faults);
}

}  // namespace tpuest::config
