#pragma once
// Reads the tree into structs: strict, with every fault at once.
//
// Numbers: `010` is refused, `1e4` is an integer where one is asked for, `1/255` is a number where
// one is asked for, `.inf` and `.nan` are numbers, true and false the only booleans, and a quoted
// number is a string. ${VAR}, ${VAR:-x}, ${params.NAME} and ${name} (a scalar at the top level) are
// put in where a value is read, and what holds one is read as if it had been written plainly; `$${`
// stands for `${`. Values of Field.input_path are resolved against the folder of the file they
// stand in; what the command line gave is left as it is.

#include <string>
#include <vector>

#include "config/reflect.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// Fills the section from the tree; what the tree does not name keeps its value. Faults carry
// place, width and key path and are added in the order of the lines; the value is of no use if
// there are any. Returns a note for each key of tree.others that was left out.
std::vector<std::string> ReadInto(const Tree& tree, const Value& section, Faults& faults);

template <class T>
void Read(const Tree& tree, T& section, Faults& faults) {
  ReadInto(tree, ValueOf(section), faults);
}

}  // namespace tpuest::config
