// The sources of a table's content, and refused tables.

#include "core/ops/lookup.h"

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/graph/cut.h"
#include "core/graph/write/tables.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_checks.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

Tensor Texts(const std::vector<std::string>& texts) {
  return Tensor::Strings({static_cast<int64_t>(texts.size())}, texts);
}

// The results outlive the program, and the strings in them.
Tensor Run(Value fetch) {
  VariableStore variables;
  const ProgramSpec spec{.graph = &fetch.graph(), .fetches = {fetch}};
  const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
  const StepFeeds feeds;
  return program->Run({&feeds, 1})[0].fetches[0][0];
}

std::string Refusal(Value fetch, Code code) {
  try {
    (void)Run(fetch);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.message();
  }
  return "";
}

Value Table(Graph& graph, DType keys, DType values, const std::string& shared_name = "") {
  return graph.Add("HashTableV2", {},
                   {{"shared_name", shared_name}, {"key_dtype", keys}, {"value_dtype", values}});
}

// Looks "b" and "x" up in a table of the file's lines.
struct FileTable {
  explicit FileTable(const std::string& text) { WriteFileAtomically(path, text, false); }

  Value Find(Attrs attrs, DType values = DType::kInt64) {
    const Value table = Table(graph, DType::kString, values);
    const Value name = graph.Constant(Tensor::Strings({}, {path}));
    graph.AddNode("InitializeTableFromTextFileV2", {table, name}, std::move(attrs));
    const Value keys = graph.Constant(Texts({"b", "x"}));
    return values == DType::kString
               ? ops::LookupTableFind(table, keys, Tensor::Strings({}, {"none"}))
               : ops::LookupTableFind(table, keys, Tensor::Scalar<int64_t>(-1));
  }

  Graph graph{TestRegistry()};
  TemporaryFolder folder;
  std::string path = folder.File("vocabulary.txt");
};

constexpr int64_t kLine = -2;
constexpr int64_t kNumber = -1;

TEST_CASE("a file's lines are keys, and their numbers the values") {
  FileTable file("a\nb\r\nc");
  const Tensor found = Run(file.Find({{"key_index", kLine}, {"value_index", kNumber}}));
  CHECK(SameBits(found, Tensor::Of<int64_t>({2}, {1, -1})));
}

TEST_CASE("of a line only the \\r that ends it is left out") {
  FileTable crlf("\rb\r\nb\r\n");
  const Tensor found = Run(crlf.Find({{"key_index", kLine}, {"value_index", kNumber}}));
  CHECK(SameBits(found, Tensor::Of<int64_t>({2}, {1, -1})));
  FileTable two("b\r\r\nb\r");
  const Tensor last = Run(two.Find({{"key_index", kLine}, {"value_index", kNumber}}));
  CHECK(SameBits(last, Tensor::Of<int64_t>({2}, {1, -1})));
}

TEST_CASE("a file's columns are keys and values, after skipped lines") {
  FileTable file("head\nb,7\nc,8\nx,9\n");
  const Tensor found = Run(file.Find({{"key_index", int64_t{0}},
                                      {"value_index", int64_t{1}},
                                      {"delimiter", std::string(",")},
                                      {"offset", int64_t{1}},
                                      {"vocab_size", int64_t{2}}}));
  CHECK(SameBits(found, Tensor::Of<int64_t>({2}, {7, -1})));
}

TEST_CASE("columns are separated by tabs by default") {
  FileTable file("a\talpha\nb\tbeta\n");
  const Tensor found =
      Run(file.Find({{"key_index", int64_t{0}}, {"value_index", int64_t{1}}}, DType::kString));
  CHECK(SameBits(found, Texts({"beta", "none"})));
}

TEST_CASE("an error names the line that does not fit") {
  FileTable file("a\t1\nb\n");
  const auto refusal = [&](Attrs attrs) {
    const std::string message = Refusal(file.Find(std::move(attrs)), Code::kData);
    return message.substr(message.find(": ") + 2 + file.path.size() + 2);
  };
  CHECK(refusal({{"key_index", int64_t{0}}, {"value_index", int64_t{1}}}) ==
        "line 2 has 1 columns, expected at least 2");
  CHECK(refusal({{"key_index", int64_t{0}}, {"value_index", kLine}}) ==
        "line 1: \"a\t1\" is not a valid int64");
  CHECK(refusal({{"key_index", kLine}, {"value_index", kNumber}, {"vocab_size", int64_t{3}}}) ==
        "vocab_size is 3, but the file has 2 lines");
}

TEST_CASE("a table without content, or with two values of a key, is refused") {
  Graph graph(TestRegistry());
  const Value keys = graph.Constant(Texts({"a"}));
  const Tensor missing = Tensor::Scalar<int64_t>(-1);
  const Value bare = Table(graph, DType::kString, DType::kInt64);
  CHECK(Refusal(ops::LookupTableFind(bare, keys, missing), Code::kUsage) ==
        "LookupTableFindV2 'hash_table_Lookup/LookupTableFindV2': Table not initialized: nothing "
        "in the graph gives 'HashTableV2' its keys and values");
  const Value both =
      ops::HashTable(graph, Texts({"a", "a"}), Tensor::Of<int64_t>({2}, {1, 2}), "both");
  CHECK(Refusal(ops::LookupTableFind(both, keys, missing), Code::kUsage)
            .ends_with("HashTable has different value for same key: 'a' is both entry 0 and entry "
                       "1 of 'both/hash_table'"));
  const Value fed = graph.Placeholder(DType::kInt64, {1}, "fed");
  const Value open = Table(graph, DType::kString, DType::kInt64);
  graph.AddNode("LookupTableImportV2", {open, keys, fed});
  CHECK(Refusal(ops::LookupTableFind(open, keys, missing), Code::kUsage)
            .ends_with("its values, 'fed', must be constants"));
}

TEST_CASE("a lookup has the types of its table") {
  Graph graph(TestRegistry());
  const Value table = Table(graph, DType::kString, DType::kInt64);
  const auto find = [&](Value keys, const Tensor& missing) {
    try {
      (void)ops::LookupTableFind(table, keys, missing);
    } catch (const Error& error) {
      return error.message().substr(error.message().find(": ") + 2);
    }
    return std::string();
  };
  CHECK(find(graph.Constant(Tensor::Of<int64_t>({1}, {1})), Tensor::Scalar<int64_t>(-1)) ==
        "the key_dtype of 'HashTableV2' is string, but the lookup needs int64");
  CHECK(find(graph.Constant(Texts({"a"})), Tensor::Scalar<int32_t>(-1)) ==
        "the value_dtype of 'HashTableV2' is int64, but the lookup needs int32");
}

TEST_CASE("handles of one shared_name are one table") {
  Graph graph(TestRegistry());
  const Value first = Table(graph, DType::kString, DType::kInt64, "t");
  const Value second = Table(graph, DType::kString, DType::kInt64, "t");
  graph.AddNode("LookupTableImportV2", {first, graph.Constant(Texts({"a"})),
                                        graph.Constant(Tensor::Of<int64_t>({1}, {3}))});
  const Value found =
      ops::LookupTableFind(second, graph.Constant(Texts({"a"})), Tensor::Scalar<int64_t>(-1));
  CHECK(SameBits(Run(found), Tensor::Of<int64_t>({1}, {3})));
  CHECK(FindTableInitializer(Table(graph, DType::kString, DType::kInt64)) == nullptr);
}

TEST_CASE("tables of one content share a name, others do not") {
  Graph graph(TestRegistry());
  const auto name = [&](const std::vector<std::string>& words) {
    return ops::WordTable(graph, words, "word").node->Attr<std::string>("shared_name");
  };
  CHECK(name({"a", "b"}) == name({"a", "b"}));
  CHECK(name({"a", "b"}) != name({"b", "a"}));
  CHECK(name({"a", "b"}) != name({"a", "b", ""}));
}

TEST_CASE("labels are looked up before the device, ids after it") {
  Graph graph(TestRegistry());
  const Value labels = graph.Placeholder(DType::kString, {kUnknownDim}, "labels");
  const Value ids =
      ops::LookupVocabulary(ops::IndexTable(graph, {"a", "b"}, DType::kInt32, "index"), labels);
  const Value logits =
      graph.AddVariable("v", DType::kFloat, {2}, graph.Constant(Tensor::Of<float>({2}, {0, 1})))
          ->value;
  const Value sums = ops::AddV2(logits, ops::Cast(ids, DType::kFloat));
  const Value words =
      ops::LookupVocabulary(ops::WordTable(graph, {"a", "b"}, "word"), ops::ArgMax(sums, 0));
  const GraphCut cut = CutGraph(graph, {words}, {});
  CHECK(cut.PartOf(*ids.node) == Part::kBefore);
  CHECK(cut.PartOf(*sums.node) == Part::kDevice);
  CHECK(cut.PartOf(*words.node) == Part::kAfter);
  CHECK(cut.before_to_device == std::vector<Value>{ids});
}

}  // namespace
}  // namespace tpuest
