#pragma once
// Tables from keys to values, whose content is known while the graph is built: host ops. A table's
// content is what the one node that initializes it says (core/graph/write/tables.h); a lookup here
// reads it when the graph is compiled, so nothing has to run first.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// tf.lookup.StaticHashTable over a KeyValueTensorInitializer: keys and values [n], string, int64 or
// int32 to any dtype. Gives the handle. Its shared_name follows from its content alone, so that
// servers that load several exports never mix them up.
Value HashTable(Graph& graph, const Tensor& keys, const Tensor& values, std::string_view name = "");

// The value of each key, `missing` (a scalar of the table's values) for one that is not there.
Value LookupTableFind(Value table, Value keys, const Tensor& missing, std::string_view name = "");

// The number of keys, int64 [].
Value LookupTableSize(Value table, std::string_view name = "");

// Tables from a vocabulary's words to their positions as `ids` (int32 or int64), and from positions
// (int64) to words: those of tf.lookup's index_table_from_tensor and
// index_to_string_table_from_tensor.
Value IndexTable(Graph& graph, const std::vector<std::string>& vocabulary, DType ids,
                 std::string_view name);
Value WordTable(Graph& graph, const std::vector<std::string>& vocabulary, std::string_view name);
// A table from the first `size` lines of a text file, strings or int64 as `keys` says, to their
// numbers (int64). The file goes into exports as an asset.
Value FileTable(Graph& graph, const std::string& path, int64_t size, DType keys,
                std::string_view name);
// A lookup in an IndexTable or a WordTable: -1 or "UNK" for what is not there.
Value LookupVocabulary(Value table, Value keys, std::string_view name = "");

OpFamily LookupOps();

}  // namespace tpuest::ops
