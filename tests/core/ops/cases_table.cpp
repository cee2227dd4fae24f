// Tables.

#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

Tensor Texts(Shape shape, const std::vector<std::string>& texts) {
  return Tensor::Strings(std::move(shape), texts);
}

OpCase Finds(std::string claim, Tensor keys, const Tensor& table_keys, const Tensor& table_values,
             const Tensor& missing, Tensor expected) {
  return {.op = "LookupTableFindV2",
          .claim = std::move(claim),
          .inputs = {std::move(keys)},
          .build =
              [=](Graph& graph, const In& in) {
                const Value table = ops::HashTable(graph, table_keys, table_values);
                return Built{{ops::LookupTableFind(table, in[0], missing)}, {}};
              },
          .expected = {std::move(expected)},
          .batch = {0}};
}

// Keys "a" and "b", given to the table by this op.
Value TableOf(Graph& graph, std::string_view initializer) {
  const Value table =
      graph.Add("HashTableV2", {}, {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
  const Value keys = graph.Constant(Texts({2}, {"a", "b"}));
  const Value values = ops::Cast(graph.Constant(Ints({2}, {4, 5})), DType::kInt64);
  graph.AddNode(initializer, {table, keys, values});
  return table;
}

OpCase Initialises(const std::string& op) {
  return {.op = op,
          .claim = "values that follow from constants",
          .inputs = {Texts({3}, {"b", "c", "a"})},
          .build =
              [op](Graph& graph, const In& in) {
                return Built{
                    {ops::LookupTableFind(TableOf(graph, op), in[0], Tensor::Scalar<int64_t>(-7))},
                    {}};
              },
          .expected = {Longs({3}, {5, -7, 4})}};
}

}  // namespace

std::vector<OpCase> TableCases() {
  return {
      {.op = "HashTableV2",
       .claim = "a vocabulary's index",
       .inputs = {Texts({2, 2}, {"fox", "cat", "gnu", ""})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{
                 {ops::LookupVocabulary(
                     ops::IndexTable(graph, {"cat", "dog", "fox"}, DType::kInt32, "index"), in[0])},
                 {}};
           },
       .expected = {Ints({2, 2}, {2, 0, -1, -1})}},
      {.op = "HashTableV2",
       .claim = "a vocabulary's words",
       .inputs = {Longs({4}, {2, 0, 3, -1})},
       .build =
           [](Graph& graph, const In& in) {
             return Built{{ops::LookupVocabulary(
                              ops::WordTable(graph, {"cat", "dog", "fox"}, "word"), in[0])},
                          {}};
           },
       .expected = {Texts({4}, {"fox", "cat", "UNK", "UNK"})}},
      Finds("string to int64", Texts({3}, {"b", "a", "c"}), Texts({2}, {"a", "b"}),
            Longs({2}, {10, 20}), Tensor::Scalar<int64_t>(-1), Longs({3}, {20, 10, -1})),
      Finds("string to string", Texts({2}, {"b", "z"}), Texts({2}, {"a", "b"}),
            Texts({2}, {"alpha", "beta"}), Texts({}, {"none"}), Texts({2}, {"beta", "none"})),
      Finds("int64 to float", Longs({3}, {int64_t{1} << 40, 0, 1}),
            Longs({2}, {1, int64_t{1} << 40}), Floats({2}, {0.5F, 2}), Tensor::Scalar<float>(0),
            Floats({3}, {2, 0, 0.5F})),
      Finds("int32 to bool", Ints({2}, {-3, 4}), Ints({2}, {-3, 4}), Bools({2}, {1, 0}),
            Tensor::Scalar<bool>(true), Bools({2}, {1, 0})),
      Finds("the same entry twice", Texts({1}, {"a"}), Texts({2}, {"a", "a"}), Longs({2}, {7, 7}),
            Tensor::Scalar<int64_t>(-1), Longs({1}, {7})),
      Finds("an empty table", Texts({1}, {"a"}), Texts({0}, {}), Longs({0}, {}),
            Tensor::Scalar<int64_t>(-1), Longs({1}, {-1})),
      Initialises("LookupTableImportV2"),
      Initialises("InitializeTableV2"),
      {.op = "InitializeTableFromTextFileV2",
       .claim = "lines and their numbers",
       .inputs = {Texts({3}, {"fox", "gnu", "cat"})},
       .build =
           [](Graph& graph, const In& in) {
             const Value table =
                 graph.Add("HashTableV2", {},
                           {{"key_dtype", DType::kString}, {"value_dtype", DType::kInt64}});
             const Value file = graph.Constant(Texts({}, {TESTDATA "/vocabulary.txt"}));
             graph.AddNode("InitializeTableFromTextFileV2", {table, file},
                           {{"key_index", int64_t{-2}}, {"value_index", int64_t{-1}}});
             return Built{{ops::LookupTableFind(table, in[0], Tensor::Scalar<int64_t>(-1))}, {}};
           },
       .expected = {Longs({3}, {2, -1, 0})}},
      {.op = "LookupTableSizeV2",
       .claim = "counts keys, not entries",
       .inputs = {Longs({2}, {10, 20})},
       .build =
           [](Graph& graph, const In& in) {
             const Value table =
                 ops::HashTable(graph, Texts({3}, {"a", "b", "a"}), Longs({3}, {1, 2, 1}));
             return Built{{ops::AddV2(in[0], ops::LookupTableSize(table))}, {}};
           },
       .expected = {Longs({2}, {12, 22})}},
  };
}

}  // namespace tpuest
