#pragma once
// Lookup tables from keys to values, with contents known while the graph is built: host ops. The
// one node that initializes a table provides its content (core/graph/write/tables.h). tpuest reads
// it when it compiles the graph, so no initializer has to run first.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// tf.lookup.StaticHashTable over a KeyValueTensorInitializer: keys and values [n], string, int64 or
// int32 to any dtype. Returns the handle. Its shared_name depends only on the content, so that
// servers that load several exports never confuse their tables.
Value HashTable(Graph& graph, const Tensor& keys, const Tensor& values, std::string_view name = "");

// Returns the value of each key; `missing` (a scalar of the values' dtype) for a key that is not in
// the table.
Value LookupTableFind(Value table, Value keys, const Tensor& missing, std::string_view name = "");

// The number of keys, int64 [].
Value LookupTableSize(Value table, std::string_view name = "");

// A table from a vocabulary's words to their positions as `ids` (int32 or int64), and one from
// positions (int64) to words: tf.lookup's index_table_from_tensor and
// index_to_string_table_from_tensor.
Value IndexTable(Graph& graph, const std::vector<std::string>& vocabulary, DType ids,
                 std::string_view name);
Value WordTable(Graph& graph, const std::vector<std::string>& vocabulary, std::string_view name);
// A table from the first `size` lines of a text file, strings or int64 by `keys`, to their line
// numbers (int64). Exports include the file as an asset.
Value FileTable(Graph& graph, const std::string& path, int64_t size, DType keys,
                std::string_view name);
// A lookup in an IndexTable or a WordTable; returns -1 or "UNK" for a missing key.
Value LookupVocabulary(Value table, Value keys, std::string_view name = "");

OpFamily LookupOps();

}  // namespace tpuest::ops
