#pragma once
// Rows of a table of which a graph may contain only the materialized rows: the form in which an
// export saves a table that is kept by rows.
//
//   <table>        float32 [n, D]  the materialized rows
//   <table>-keys   int64 [n]       their row numbers in ascending order
//   <table>-seed   a constant      tf_random_seed, which generates the initial values of all others

#include <cstdint>
#include <string>

#include "core/graph/graph.h"
#include "core/nn/initializers.h"

namespace tpuest::nn {

// The initial values of a whole table.
struct TableStart {
  Shape shape;
  Initializer initializer;
  // The scope in which the training graph makes the table; it is part of the random seed.
  std::string scope = {};
};

// Makes these variables; n must be greater than 0.
void AddWrittenRows(Graph& graph, const std::string& table, int64_t n, int64_t width,
                    uint64_t seed);

// Returns rows `ids` [...] of a table, [..., D]. Throws Error kUsage if ops that TensorFlow has
// cannot generate the initial values of the other rows.
[[nodiscard]] Value TableRows(const Variable& table, const TableStart& start, Value ids);

}  // namespace tpuest::nn
