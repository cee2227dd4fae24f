#pragma once
// Rows of a table, and of one of which a graph has those alone that were written: what a checkpoint
// has of a table that is kept by rows, in an export.
//
//   <table>        float32 [n, D]  the rows that were written
//   <table>-keys   int64 [n]       their numbers, the smallest first
//   <table>-seed   a constant      tf_random_seed, by which the others are drawn

#include <cstdint>
#include <string>

#include "core/graph/graph.h"
#include "core/nn/initializers.h"

namespace tpuest::nn {

// What the whole of a table begins with.
struct TableStart {
  Shape shape;
  Initializer initializer;
  std::string scope = {};  // in which the graph that trains makes the table: what is drawn has its
                           // name
};

// Makes these variables, n > 0.
void AddWrittenRows(Graph& graph, const std::string& table, int64_t n, int64_t width,
                    uint64_t seed);

// Rows `ids` [...] of a table, [..., D]. Error kUsage where those that were not written cannot be
// drawn by ops that TensorFlow has.
[[nodiscard]] Value TableRows(const Variable& table, const TableStart& start, Value ids);

}  // namespace tpuest::nn
