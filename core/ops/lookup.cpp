#include "core/ops/lookup.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "core/graph/bound_op.h"
#include "core/kernels/fingerprint.h"
#include "core/ops/lookup_content.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

// Writes dtype, shape, lengths of strings, and content, so that different tensors give different
// bytes.
std::string KeyBytesOf(const Tensor& tensor) {
  std::string bytes = fmt::format("{}{}:", NameOf(tensor.dtype()), tensor.shape().Text());
  if (tensor.dtype() != DType::kString) {
    return bytes.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  for (const std::string_view text : tensor.strings()) {
    bytes += fmt::format("{}:{}", text.size(), text);
  }
  return bytes;
}

// The numbers 0 .. n-1.
Tensor Positions(size_t n, DType dtype) {
  std::vector<int64_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0);
  return Tensor::Of<int64_t>({static_cast<int64_t>(n)}, positions).Cast(dtype);
}

Tensor VocabularyWords(const std::vector<std::string>& vocabulary) {
  return Tensor::Strings({static_cast<int64_t>(vocabulary.size())}, vocabulary);
}

}  // namespace

Value HashTable(Graph& graph, const Tensor& keys, const Tensor& values, std::string_view name) {
  const NameScope scope(graph, name.empty() ? "hash_table" : name);
  const uint64_t content = Fingerprint64(KeyBytesOf(keys) + KeyBytesOf(values));
  const Value table = graph.Add("HashTableV2", {},
                                {{"shared_name", fmt::format("hash_table_{:016x}", content)},
                                 {"key_dtype", keys.dtype()},
                                 {"value_dtype", values.dtype()}},
                                "hash_table");
  graph.AddNode("LookupTableImportV2",
                {table, graph.Constant(keys, "keys"), graph.Constant(values, "values")}, {},
                "table_init/LookupTableImportV2");
  return table;
}

Value LookupTableFind(Value table, Value keys, const Tensor& missing, std::string_view name) {
  Graph& graph = keys.graph();
  const NameScope scope(graph, name.empty() ? "hash_table_Lookup" : name);
  return graph.Add("LookupTableFindV2", {table, keys, graph.Constant(missing)});
}

Value LookupTableSize(Value table, std::string_view name) {
  return table.graph().Add("LookupTableSizeV2", {table}, {}, name);
}

Value IndexTable(Graph& graph, const std::vector<std::string>& vocabulary, DType ids,
                 std::string_view name) {
  return HashTable(graph, VocabularyWords(vocabulary), Positions(vocabulary.size(), ids), name);
}

Value WordTable(Graph& graph, const std::vector<std::string>& vocabulary, std::string_view name) {
  return HashTable(graph, Positions(vocabulary.size(), DType::kInt64), VocabularyWords(vocabulary),
                   name);
}

Value FileTable(Graph& graph, const std::string& path, int64_t size, DType keys,
                std::string_view name) {
  constexpr int64_t kWholeLine = -2;
  constexpr int64_t kLineNumber = -1;
  const NameScope scope(graph, name);
  const Value table = graph.Add(
      "HashTableV2", {},
      {{"shared_name", fmt::format("hash_table_{}_{}_{}_{}", path, size, kWholeLine, kLineNumber)},
       {"key_dtype", keys},
       {"value_dtype", DType::kInt64}},
      "hash_table");
  graph.AddNode("InitializeTableFromTextFileV2",
                {table, graph.Constant(Tensor::Strings({}, {path}), "asset_filepath")},
                {{"key_index", kWholeLine}, {"value_index", kLineNumber}, {"vocab_size", size}},
                "table_init/InitializeTableFromTextFileV2");
  return table;
}

Value LookupVocabulary(Value table, Value keys, std::string_view name) {
  const auto values = table.node->Attr<DType>("value_dtype");
  const Tensor missing = values == DType::kString ? Tensor::Strings({}, {"UNK"})
                                                  : Tensor::Scalar<int64_t>(-1).Cast(values);
  return LookupTableFind(table, keys, missing, name);
}

namespace {

void NoPlan(PlanContext& /*context*/) {}

void PlanUnbound(PlanContext& context) {
  Check(false, "'{}' must be bound before it is planned", context.node().name());
}

void ImportShape(ShapeContext& context) {
  if (Compatible(context.Input(1), context.Input(2))) return;
  context.Fail(fmt::format("keys are {}, but values are {}", context.Input(1).Text(),
                           context.Input(2).Text()));
}

void CheckTableDType(const ShapeContext& context, const Node& table, const char* attr,
                     DType asked) {
  const DType held = table.Attr<DType>(attr);
  if (held == asked) return;
  context.Fail(fmt::format("the {} of '{}' is {}, but the lookup needs {}", attr, table.name(),
                           NameOf(held), NameOf(asked)));
}

void FindShape(ShapeContext& context) {
  const Node& node = context.node();
  const Node& table = *node.input(0).node;
  if (table.type() == "HashTableV2") {
    CheckTableDType(context, table, "key_dtype", node.input(1).dtype());
    CheckTableDType(context, table, "value_dtype", node.input(2).dtype());
  }
  NeedRank(context, context.Input(2), 0, "default_value");
  context.Output(0, context.Input(1));
}

Rows FindRows(RowContext& context) { return context.IsCut(1) ? Rows::kEach : Rows::kWhole; }

Attrs WithContent(const Node& node) {
  const TableContent content = ContentOf(node);
  Attrs attrs = node.attrs();
  attrs["table_keys"] = content.keys;
  attrs["table_values"] = content.values;
  return attrs;
}
BoundOp BindFind(const Node& node) { return {"_LookupTableFindIn", WithContent(node)}; }
BoundOp BindSize(const Node& node) { return {"_LookupTableSizeOf", WithContent(node)}; }

// Maps each key to its position. Keys of 32 and 64 bits are numbers; strings are views into the
// tensor of keys.
template <class T>
using RowOf = std::unordered_map<
    std::conditional_t<std::is_same_v<T, std::string_view>, std::string_view, int64_t>, int64_t>;

template <class T>
const T* DataOf(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw());
}

// A repeated entry counts once, as in TensorFlow.
template <class T>
RowOf<T> RowsOf(const Node& node) {
  const auto& keys = node.Attr<Tensor>("table_keys");
  const auto& values = node.Attr<Tensor>("table_values");
  RowOf<T> rows;
  rows.reserve(static_cast<size_t>(keys.elements()));
  for (int64_t i = 0; i < keys.elements(); ++i) {
    const auto [found, is_new] = rows.emplace(DataOf<T>(keys)[i], i);
    if (is_new) continue;
    const int64_t first = found->second;
    if (SameBits(values.Rows(first, first + 1), values.Rows(i, i + 1))) continue;
    throw Error(Code::kUsage,
                fmt::format("{} '{}': HashTable has different value for same key: '{}' is both "
                            "entry {} and entry {} of '{}'",
                            node.type().substr(1), node.name(), found->first, first, i,
                            node.input(0).node->name()))
        .At(node.origin());
  }
  return rows;
}

// Calls fn.template operator()<T>() with the type of the table's keys.
template <class Fn>
void DispatchKeys(const Node& node, Fn&& fn) {
  switch (node.Attr<Tensor>("table_keys").dtype()) {
    case DType::kString:
      return fn.template operator()<std::string_view>();
    case DType::kInt64:
      return fn.template operator()<int64_t>();
    case DType::kInt32:
      return fn.template operator()<int32_t>();
    default:
      throw Error(
          Code::kUsage,
          fmt::format("'{}': keys of tables must be string, int64 or int32, found {}",
                      node.input(0).node->name(), NameOf(node.Attr<Tensor>("table_keys").dtype())))
          .At(node.origin());
  }
}

template <class T>
void PlanFindOf(PlanContext& context) {
  const Node& node = context.node();
  const auto rows = std::make_shared<const RowOf<T>>(RowsOf<T>(node));
  // The results are views of these strings, or copies of the bytes of numbers.
  const auto& values = node.Attr<Tensor>("table_values");
  const bool text = values.dtype() == DType::kString;
  const size_t width = text ? sizeof(std::string_view) : SizeOf(values.dtype());
  const auto* const from = static_cast<const char*>(values.raw());
  const Buffer keys = context.Input(1);
  const Buffer missing = context.Input(2);
  const Buffer found = context.Output(0);
  context.RunRanges(
      context.OutputShape(0).elements(), [=](const Task& task, int64_t begin, int64_t end) {
        const T* const key = task.At<const T>(keys);
        char* const to = task.At<char>(found);
        for (int64_t i = begin; i < end; ++i) {
          const auto row = rows->find(key[i]);
          const char* const value = row == rows->end()
                                        ? task.At<const char>(missing)
                                        : from + static_cast<size_t>(row->second) * width;
          std::memcpy(to + static_cast<size_t>(i) * width, value, width);
        }
      });
}

void PlanFind(PlanContext& context) {
  DispatchKeys(context.node(), [&]<class T>() { PlanFindOf<T>(context); });
}

void PlanTableSize(PlanContext& context) {
  int64_t size = 0;
  DispatchKeys(context.node(),
               [&]<class T>() { size = static_cast<int64_t>(RowsOf<T>(context.node()).size()); });
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) { *task.At<int64_t>(out) = size; });
}

const OpDef kLookupOps[] = {
    {.name = "HashTableV2",
     .signature = " -> table_handle: resource; container: string = \"\"; "
                  "shared_name: string = \"\"; use_node_name_sharing: bool = false; "
                  "key_dtype: string|int64|int32; value_dtype: type",
     .shape = ScalarShape,
     .grad = NoGradient,
     .cpu = NoPlan,
     .stateful = true,
     .host = true},
    {.name = "LookupTableImportV2",
     .signature = "table_handle: resource, keys: Tin, values: Tout -> ; Tin: type; Tout: type",
     .shape = ImportShape,
     .grad = NoGradient,
     .cpu = NoPlan,
     .stateful = true,
     .host = true,
     .writes = true},
    {.name = "InitializeTableV2",
     .signature = "table_handle: resource, keys: Tkey, values: Tval -> ; Tkey: type; Tval: type",
     .shape = ImportShape,
     .grad = NoGradient,
     .cpu = NoPlan,
     .stateful = true,
     .host = true,
     .writes = true},
    {.name = "InitializeTableFromTextFileV2",
     .signature = "table_handle: resource, filename: string -> ; key_index: int >= -2; "
                  "value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: string = \"\t\"; "
                  "offset: int >= 0 = 0",
     .shape = NoShape,
     .grad = NoGradient,
     .cpu = NoPlan,
     .stateful = true,
     .host = true,
     .writes = true},
    {.name = "LookupTableFindV2",
     .signature = "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout; "
                  "Tin: type; Tout: type",
     .shape = FindShape,
     .grad = NoGradient,
     .cpu = PlanUnbound,
     .bind = BindFind,
     .stateful = true,
     .host = true},
    {.name = "LookupTableSizeV2",
     .signature = "table_handle: resource -> size: int64",
     .shape = ScalarShape,
     .grad = NoGradient,
     .cpu = PlanUnbound,
     .bind = BindSize,
     .stateful = true,
     .host = true},
    // The two ops above, with the table's content as an attribute.
    {.name = "_LookupTableFindIn",
     .signature = "table_handle: resource, keys: Tin, default_value: Tout -> values: Tout; "
                  "Tin: type; Tout: type; table_keys: tensor; table_values: tensor",
     .shape = FindShape,
     .cpu = PlanFind,
     .rows = FindRows,
     .host = true},
    {.name = "_LookupTableSizeOf",
     .signature = "table_handle: resource -> size: int64; table_keys: tensor; table_values: tensor",
     .shape = ScalarShape,
     .cpu = PlanTableSize,
     .host = true},
};

}  // namespace

OpFamily LookupOps() { return kLookupOps; }

}  // namespace tpuest::ops
