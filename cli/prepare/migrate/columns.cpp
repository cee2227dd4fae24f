#include "cli/prepare/migrate/columns.h"

#include <algorithm>
#include <optional>

#include "cli/prepare/migrate/crosses.h"
#include "cli/prepare/migrate/nodes.h"
#include "cli/prepare/migrate/normalizers.h"
#include "cli/prepare/migrate/numbers.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kLinear = "linear/linear_model/";
constexpr std::string_view kWeightedBy = "_weighted_by_";
constexpr std::string_view kDnn = "dnn/input_from_feature_columns/input_layer/";

// The nodes of one column.
using Nodes = std::vector<const SeenNode*>;

const SeenNode* FindOp(const Nodes& nodes, std::string_view op) {
  for (const SeenNode* const node : nodes) {
    if (node->op == op) return node;
  }
  return nullptr;
}

const SeenNode* FindNamed(const Nodes& nodes, std::string_view ending, std::string_view op) {
  for (const SeenNode* const node : nodes) {
    if (node->op == op && node->name.ends_with(ending)) return node;
  }
  return nullptr;
}

std::string ListText(const std::vector<double>& values) {
  std::vector<std::string> words;
  for (const double value : values) words.push_back(NumberText(value));
  return "[" + Join(words, ", ") + "]";
}

std::string ListText(const Tensor& tensor) {
  std::vector<std::string> words;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    words.push_back(tensor.dtype() == DType::kString
                        ? config::StringText(tensor.strings()[static_cast<size_t>(i)])
                        : NumberText(tensor.AsDouble(i)));
  }
  return "[" + Join(words, ", ") + "]";
}

bool Strip(std::string& name, std::string_view ending) {
  if (!EndsWith(name, ending) || name.size() == ending.size()) return false;
  name.resize(name.size() - ending.size());
  return true;
}

class ColumnFinder {
 public:
  ColumnFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables), fills_(FillsOf(graph)) {}

  MigratedColumns Run() {
    for (const std::string& variable : variables_.Names()) FindLinear(variable);
    FindSparseCombiner();
    for (const auto& [scope, nodes] : DnnScopes()) FindDnn(scope, nodes);
    // What a column has its name for, a variable or a place in the network, is known by now.
    for (const Crossing& crossing : crossings_) {
      AddCrossed(crossing.name, *crossing.node, crossing.nodes, crossing.rows);
    }
    WriteCrosses();
    return std::move(found_);
  }

 private:
  // The variable "linear/linear_model/sex/weights" belongs to the column sex.
  void FindLinear(const std::string& variable) {
    std::string name = variable;
    if (!name.starts_with(kLinear) || !Strip(name, "/weights")) return;
    name = name.substr(kLinear.size());
    const std::string part = "/linear_model/" + name + "/";
    Nodes nodes;
    for (const SeenNode& node : graph_.nodes()) {
      const auto has = [&](std::string_view what) {
        return node.name.find(what) != std::string::npos;
      };
      const bool is_forward = !has("gradients/") && !has("/Initializer/") && !has("/update_");
      if (is_forward && has(part) && node.name.starts_with("linear/")) nodes.push_back(&node);
    }
    const Nodes own = nodes;
    nodes = WithSources(std::move(nodes));
    const int64_t rows = variables_.ShapeOf(variable).dim(0);
    const bool is_sparse = name.find(kWeightedBy) != std::string::npos ||
                           FindOp(nodes, "SparseSegmentSum") != nullptr ||
                           FindOp(nodes, "SparseSegmentMean") != nullptr ||
                           FindOp(nodes, "SparseSegmentSqrtN") != nullptr;
    if (is_sparse) {
      combiners_.insert(CombinerOf(name, own));
      AddCategories(name, nodes, rows);
    } else {
      AddNumeric(name, rows, DenseInput(own));
    }
    found_.linear.push_back(name);
  }

  // All columns of a linear model combine the values of an example in one way. One whose nodes are
  // not there tells none.
  void FindSparseCombiner() {
    if (combiners_.size() == 1) found_.sparse_combiner = *combiners_.begin();
    if (combiners_.size() > 1) Miss("the linear model's sparse_combiner: columns have several");
  }

  // The tensor that a dense column makes its width of: what goes into its last Reshape.
  [[nodiscard]] static std::string DenseInput(const Nodes& nodes) {
    const SeenNode* const reshape = FindNamed(nodes, "/Reshape", "Reshape");
    return reshape == nullptr || reshape->inputs.empty() ? "" : reshape->inputs[0];
  }

  // A column that another one has read before leaves nodes in that one's scope: the column's own
  // nodes, then all that they are made of, back to the input, and what fills their tables.
  [[nodiscard]] Nodes WithSources(Nodes nodes) const {
    std::set<const SeenNode*> seen(nodes.begin(), nodes.end());
    const auto add = [&](const SeenNode* node) {
      if (node != nullptr && seen.insert(node).second) nodes.push_back(node);
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->op.starts_with("IteratorGetNext")) continue;
      for (const std::string& input : nodes[i]->inputs) {
        if (!input.starts_with('^')) add(graph_.Find(input));
      }
      if (const auto fill = fills_.find(nodes[i]->name); fill != fills_.end()) add(fill->second);
    }
    return nodes;
  }

  // The node that fills each table, by the table's name.
  [[nodiscard]] static std::map<std::string, const SeenNode*> FillsOf(const SeenGraph& graph) {
    std::map<std::string, const SeenNode*> fills;
    for (const SeenNode& node : graph.nodes()) {
      const bool fills_table =
          node.op.starts_with("LookupTableImport") || node.op.starts_with("InitializeTable");
      if (fills_table && !node.inputs.empty()) fills[node.inputs[0]] = &node;
    }
    return fills;
  }

  // True unless the graph updates variables, but not this one.
  [[nodiscard]] bool IsTrained(const std::string& variable) const {
    bool any = false;
    for (const SeenNode& node : graph_.nodes()) {
      const size_t at = node.name.find("/update_");
      if (at == std::string::npos) continue;
      any = true;
      if (node.name.compare(at + std::string_view("/update_").size(), variable.size(), variable) ==
          0) {
        return true;
      }
    }
    return !any;
  }

  // The layer's scopes are its columns' names with the _1 of their second use.
  [[nodiscard]] std::map<std::string, Nodes> DnnScopes() const {
    std::map<std::string, Nodes> scopes;
    for (const SeenNode& node : graph_.nodes()) {
      if (!node.name.starts_with(kDnn)) continue;
      const std::string rest = node.name.substr(kDnn.size());
      const size_t slash = rest.find('/');
      if (slash == std::string::npos) continue;  // a node of the layer itself: concat
      const std::string scope = rest.substr(0, slash);
      if (scope.find("concat") == 0) continue;
      scopes[scope].push_back(&node);
    }
    // A scope that holds a variable alone is the other half of one with _1.
    std::erase_if(scopes, [&](const auto& entry) { return scopes.contains(entry.first + "_1"); });
    return scopes;
  }

  void FindDnn(const std::string& scope, const Nodes& own) {
    const Nodes nodes = WithSources(own);
    std::string name = scope;
    Strip(name, "_1");
    std::string categories = name;
    if (Strip(categories, "_indicator")) {
      const std::string of = AddCategories(categories, nodes, OneHotDepth(nodes));
      found_.columns[name] =
          fmt::format("{{type: indicator_column, categorical_column: {}}}", Text(of));
    } else if (Strip(categories, "_embedding")) {
      AddEmbedding(name, categories, nodes);
    } else if (const SeenNode* const bucketize = FindOp(nodes, "Bucketize")) {
      name = AddBucketized(name, *bucketize);
    } else {
      name = AddNumeric(name, Width(nodes), DenseInput(own));
    }
    found_.dnn.push_back(name);
  }

  void AddEmbedding(const std::string& name, const std::string& categories, const Nodes& nodes) {
    const std::string variable = fmt::format("{}{}/embedding_weights", kDnn, name);
    if (!variables_.Has(variable)) {
      Miss(fmt::format("feature column {}: its variable {} is not in the checkpoint", name,
                       variable));
      return;
    }
    const Shape shape = variables_.ShapeOf(variable);
    const std::string of = AddCategories(categories, nodes, shape.dim(0));
    const char* const combiner = CombinerOf(categories, nodes);
    found_.columns[name] = fmt::format(
        "{{type: embedding_column, categorical_column: {}, dimension: {}, combiner: {}{}{}}}",
        Text(of), shape.dim(1), combiner, MaxNorm(name, nodes),
        IsTrained(variable) ? "" : ", trainable: false");
  }

  // Weighted rows are summed, and divided by the sum of weights or the root of their squares' sum.
  [[nodiscard]] static const char* CombinerOf(const std::string& categories, const Nodes& nodes) {
    if (categories.find(kWeightedBy) != std::string::npos) {
      if (FindOp(nodes, "Sqrt") != nullptr) return "sqrtn";
      return FindOp(nodes, "RealDiv") != nullptr || FindOp(nodes, "DivNoNan") != nullptr ? "mean"
                                                                                         : "sum";
    }
    if (FindOp(nodes, "SparseSegmentSqrtN") != nullptr) return "sqrtn";
    return FindOp(nodes, "SparseSegmentSum") != nullptr ? "sum" : "mean";
  }

  // Rows are shortened by tf.clip_by_norm: row * max_norm / max(norm, max_norm).
  std::string MaxNorm(const std::string& name, const Nodes& nodes) {
    bool is_clipped = false;
    for (const SeenNode* const node : nodes) {
      if (node->name.find("clip_by_norm") == std::string::npos) continue;
      is_clipped = true;
      const auto norm = node->op == "Maximum" ? ScalarAt(graph_, *node, 1) : std::nullopt;
      if (norm) return ", max_norm: " + NumberText(static_cast<float>(*norm));
    }
    if (is_clipped) Miss(fmt::format("feature column {}: its max_norm", name));
    return "";
  }

  // The words of a vocabulary. A lookup in rows of several parts has a constant of such a name,
  // too: how many rows there are.
  [[nodiscard]] static const SeenNode* FindWords(const Nodes& nodes) {
    for (const SeenNode* const node : nodes) {
      const bool is_of_rows = node->name.ends_with("/embedding_lookup/Const");
      const bool is_named = node->op == "Const" && node->name.ends_with("_lookup/Const");
      if (!is_named || !node->value) continue;
      if (!is_of_rows || node->value->shape().rank() > 0) return node;
    }
    return nullptr;
  }

  // Returns the column's name in the job. `rows` is the number of categories that the variable has.
  std::string AddCategories(const std::string& name, const Nodes& nodes, int64_t rows) {
    if (const size_t at = name.find(kWeightedBy); at != std::string::npos) {
      return AddWeighted(name, at, nodes, rows);
    }
    for (const char* const op : {"SparseCross", "SparseCrossV2", "SparseCrossHashed"}) {
      const SeenNode* const node = FindOp(nodes, op);
      if (node == nullptr) continue;
      crossings_.push_back({name, node, nodes, rows});
      return name;
    }
    if (const SeenNode* const node = FindOp(nodes, "Bucketize")) return AddBucketized(name, *node);
    if (const SeenNode* const words = FindWords(nodes)) {
      return AddVocabulary(name, *words->value, nodes, rows);
    }
    // Before the hashes, which give the buckets of words that are not in the file.
    if (FindOp(nodes, "InitializeTableFromTextFileV2") != nullptr)
      return AddFile(name, nodes, rows);
    if (const SeenNode* const node = FindOp(nodes, "StringToHashBucketFast")) {
      const bool is_number = FindOp(nodes, "AsString") != nullptr;
      AddFeature(name, is_number ? "int64" : "string", ReadSize(nodes));
      const int64_t buckets =
          node->ints.contains("num_buckets") ? node->ints.at("num_buckets") : rows;
      return Put(name, fmt::format("{{type: categorical_column_with_hash_bucket, key: {}, "
                                   "hash_bucket_size: {}{}}}",
                                   Text(name), buckets, is_number ? ", dtype: int64" : ""));
    }
    MigratedFeature& feature = AddFeature(name, "int64", ReadSize(nodes));
    feature.categories = std::max(feature.categories, rows);
    const SeenNode* const fill = FindNamed(nodes, "/default_values", "Fill");
    return Put(name,
               fmt::format("{{type: categorical_column_with_identity, key: {}, num_buckets: {}{}}}",
                           Text(name), rows, fill == nullptr ? "" : DefaultAt(name, *fill, 1)));
  }

  // "town_weighted_by_share": the categories of town, each with the weight that share has there.
  std::string AddWeighted(const std::string& name, size_t at, const Nodes& nodes, int64_t rows) {
    const std::string weight = name.substr(at + kWeightedBy.size());
    const std::string of = AddCategories(name.substr(0, at), nodes, rows);
    AddFeature(weight, "float32", 1);
    return Put(
        name,
        fmt::format(
            "{{type: weighted_categorical_column, categorical_column: {}, weight_feature_key: {}}}",
            Text(of), Text(weight)));
  }

  // ", default_value: 2" for the number at an input; -1, which stands for none, needs no word.
  std::string DefaultAt(const std::string& name, const SeenNode& node, size_t input) {
    const auto value = ScalarAt(graph_, node, input);
    if (!value) Miss(fmt::format("feature column {}: its default_value", name));
    return !value || *value == -1
               ? ""
               : fmt::format(", default_value: {}", static_cast<int64_t>(*value));
  }

  // What a table gives for a word that it lacks, where words have no buckets of their own.
  std::string TableDefault(const std::string& name, const Nodes& nodes, int64_t oov) {
    const SeenNode* const find = FindOp(nodes, "LookupTableFindV2");
    return find == nullptr || oov > 0 ? "" : DefaultAt(name, *find, 2);
  }

  // The numbers of an example that a column puts into buckets: the graph says it in the shape of
  // its input, or the column was found before.
  [[nodiscard]] int64_t BucketizedSize(const SeenNode& node) const {
    for (const std::string& tensor : node.inputs) {
      if (const int64_t size = SizeIn(tensor); size > 0) return size;
    }
    return 1;
  }

  // The numbers or words of an example in a tensor, by the shape that the graph has for it; 0 is
  // not known.
  [[nodiscard]] int64_t SizeIn(const std::string& tensor) const {
    const SeenNode* const node = graph_.Find(tensor);
    if (node == nullptr) return 0;
    for (const char* const key : {"output_shapes", "_output_shapes"}) {
      const auto shapes = node->shapes.find(key);
      const size_t output = OutputOf(tensor);
      if (shapes == node->shapes.end() || output >= shapes->second.size()) continue;
      const Shape& shape = shapes->second[output];
      if (shape.known_rank() && shape.rank() == 2 && shape.dim(1) > 0) return shape.dim(1);
    }
    return 0;
  }

  // The size of the one feature that the nodes read; 1 where they read several.
  [[nodiscard]] int64_t ReadSize(const Nodes& nodes) const {
    std::set<std::string> read;
    for (const SeenNode* const node : nodes) {
      for (const std::string& tensor : node->inputs) {
        const SeenNode* const input = graph_.Find(tensor);
        if (input != nullptr && input->op.starts_with("IteratorGetNext")) read.insert(tensor);
      }
    }
    return read.size() == 1 ? std::max<int64_t>(1, SizeIn(*read.begin())) : 1;
  }

  std::string AddBucketized(const std::string& name, const SeenNode& node) {
    std::string source = name;
    Strip(source, "_bucketized");
    const auto boundaries = node.floats.find("boundaries");
    if (boundaries == node.floats.end()) {
      Miss(fmt::format("feature column {}: its boundaries", name));
    }
    const int64_t size = BucketizedSize(node);
    const std::string of = AddNumeric(source, size, node.inputs.empty() ? "" : node.inputs[0]);
    std::vector<double>& numbers = found_.features[source].numbers;
    if (boundaries != node.floats.end()) {
      numbers.insert(numbers.end(), boundaries->second.begin(), boundaries->second.end());
    }
    return Put(name, fmt::format(
                         "{{type: bucketized_column, source_column: {}, boundaries: {}}}", Text(of),
                         boundaries == node.floats.end() ? "[]" : ListText(boundaries->second)));
  }

  std::string AddVocabulary(const std::string& name, const Tensor& words, const Nodes& nodes,
                            int64_t rows) {
    MigratedFeature& feature =
        AddFeature(name, words.dtype() == DType::kString ? "string" : "int64", ReadSize(nodes));
    for (int64_t i = 0; i < words.elements(); ++i) {
      if (words.dtype() == DType::kString) {
        feature.words.emplace_back(words.strings()[static_cast<size_t>(i)]);
      } else {
        feature.numbers.push_back(words.AsDouble(i));
      }
    }
    const int64_t oov = rows - words.elements();
    return Put(
        name,
        fmt::format(
            "{{type: categorical_column_with_vocabulary_list, key: {}, vocabulary_list: {}{}{}}}",
            Text(name), ListText(words), oov > 0 ? fmt::format(", num_oov_buckets: {}", oov) : "",
            TableDefault(name, nodes, oov)));
  }

  // `rows` counts the file's words and the buckets of other words.
  std::string AddFile(const std::string& name, const Nodes& nodes, int64_t rows) {
    const SeenNode* const init = FindOp(nodes, "InitializeTableFromTextFileV2");
    const SeenNode* const others = FindOp(nodes, "StringToHashBucketFast");
    const int64_t oov = others == nullptr || !others->ints.contains("num_buckets")
                            ? 0
                            : others->ints.at("num_buckets");
    const bool is_number = KeysAreNumbers(nodes);
    AddFeature(name, is_number ? "int64" : "string", ReadSize(nodes));
    const auto file = graph_.ConstantAt(*init, 1);
    const bool is_known = file && file->dtype() == DType::kString && file->elements() == 1;
    if (!is_known) Miss(fmt::format("feature column {}: its vocabulary_file", name));
    return Put(name,
               fmt::format(
                   "{{type: categorical_column_with_vocabulary_file, key: {}, vocabulary_file: {}, "
                   "vocabulary_size: {}{}{}{}}}",
                   Text(name), is_known ? config::StringText(file->strings()[0]) : "vocabulary.txt",
                   rows - oov, oov > 0 ? fmt::format(", num_oov_buckets: {}", oov) : "",
                   is_number ? ", dtype: int64" : "", TableDefault(name, nodes, oov)));
  }

  [[nodiscard]] static bool KeysAreNumbers(const Nodes& nodes) {
    constexpr int64_t kString = 7;  // tensorflow.DataType
    const SeenNode* const table = FindOp(nodes, "HashTableV2");
    const bool is_known = table != nullptr && table->ints.contains("key_dtype");
    return is_known && table->ints.at("key_dtype") != kString;
  }

  void AddCrossed(const std::string& name, const SeenNode& node, const Nodes& nodes, int64_t rows) {
    MigratedCross cross = FindCross(graph_, node, name);
    if (!cross.is_known) Miss(fmt::format("feature column {}: the order of its keys", name));
    for (CrossedKey& key : cross.keys) {
      if (key.is_column) continue;  // it says what it reads
      if (!EndsWith(key.name, "_bucketized")) {
        AddFeature(key.name, key.is_number ? "int64" : "string",
                   std::max<int64_t>(1, SizeIn(key.tensor)));
        continue;
      }
      const SeenNode* const bucketize =
          key.bucketize != nullptr ? key.bucketize : FindOp(nodes, "Bucketize");
      if (bucketize != nullptr) key.name = AddBucketized(key.name, *bucketize);
    }
    const int64_t buckets = node.ints.contains("num_buckets") ? node.ints.at("num_buckets") : rows;
    constexpr int64_t kDefaultKey = 0xDECAFCAFFE;
    const auto key = node.ints.find("hash_key");
    const std::string hash_key = key == node.ints.end() || key->second == kDefaultKey
                                     ? ""
                                     : fmt::format(", hash_key: {}", key->second);
    crosses_[name] = {cross.keys, fmt::format("hash_bucket_size: {}{}", buckets, hash_key)};
  }

  // Crosses name other columns, so that they come last.
  void WriteCrosses() {
    for (const auto& [name, cross] : crosses_) {
      std::vector<std::string> keys;
      for (const CrossedKey& key : cross.keys) {
        keys.push_back(Text(key.is_column ? OtherName(name, key.name) : key.name));
      }
      found_.columns[name] =
          fmt::format("{{type: crossed_column, keys: [{}], {}}}", Join(keys, ", "), cross.rest);
    }
  }

  // In a cross a column's name that is its feature's as well means the feature: the column stands
  // under another name, too.
  std::string OtherName(const std::string& cross, const std::string& column) {
    const auto found = found_.columns.find(column);
    if (found == found_.columns.end()) {
      Miss(fmt::format("feature column {}: the column {} that it crosses", cross, column));
      AddFeature(column, "string", 1);
      return column;
    }
    std::string other = column + "_ids";
    found_.columns[other] = found->second;
    return other;
  }

  // Returns the column's name in the job. `tensor` is what its numbers are made into; "" is not
  // known.
  std::string AddNumeric(const std::string& name, int64_t size, const std::string& tensor) {
    AddFeature(name, "float32", size).is_number = true;
    const MigratedFormula formula =
        tensor.empty() ? MigratedFormula{.text = "x"} : FindFormula(graph_, tensor);
    if (formula.obstacle != nullptr) {
      Miss(fmt::format("feature column {}: its normalizer_fn (the graph has {} in it)", name,
                       Described(formula.obstacle)));
    }
    const bool is_plain = formula.text == "x" || formula.obstacle != nullptr;
    return Put(name,
               fmt::format("{{type: numeric_column, key: {}{}{}}}", Text(name),
                           size == 1 ? "" : fmt::format(", shape: [{}]", size),
                           is_plain ? "" : ", normalizer_fn: " + config::QuotedText(formula.text)));
  }

  // Several columns of one feature may have one name: the first keeps it, another gets one of its
  // own. Returns the name.
  std::string Put(const std::string& name, const std::string& text) {
    std::string free = name;
    for (int number = 2;; ++number) {
      const auto [entry, is_new] = found_.columns.emplace(free, text);
      if (is_new || entry->second == text) return free;
      free = fmt::format("{}_{}", name, number);
    }
  }

  // A feature that is read as numbers and as words is written as the first says.
  MigratedFeature& AddFeature(const std::string& name, const std::string& dtype, int64_t size) {
    return found_.features.try_emplace(name, MigratedFeature{dtype, size}).first->second;
  }

  [[nodiscard]] int64_t OneHotDepth(const Nodes& nodes) const {
    const SeenNode* const node = FindOp(nodes, "OneHot");
    const auto depth = node == nullptr ? std::nullopt : graph_.ConstantAt(*node, 1);
    return depth && depth->elements() == 1 ? static_cast<int64_t>(depth->AsDouble(0)) : 1;
  }

  // Every dense column ends in a Reshape to [batch, width].
  [[nodiscard]] static int64_t Width(const Nodes& nodes) {
    const SeenNode* const width = FindNamed(nodes, "/Reshape/shape/1", "Const");
    return width != nullptr && width->value && width->value->elements() == 1
               ? static_cast<int64_t>(width->value->AsDouble(0))
               : 1;
  }

  [[nodiscard]] static std::string Text(const std::string& name) {
    return config::StringText(name);
  }
  void Miss(std::string what) { found_.unknown.push_back(std::move(what)); }

  const SeenGraph& graph_;
  const BundleReader& variables_;
  const std::map<std::string, const SeenNode*> fills_;
  struct Cross {
    std::vector<CrossedKey> keys;
    std::string rest;  // of its YAML
  };
  // A crossed column that is written once all others are.
  struct Crossing {
    std::string name;
    const SeenNode* node = nullptr;
    Nodes nodes;
    int64_t rows = 0;
  };
  MigratedColumns found_;
  std::map<std::string, Cross> crosses_;
  std::vector<Crossing> crossings_;
  std::set<std::string> combiners_;
};

}  // namespace

MigratedColumns FindColumns(const SeenGraph& graph, const BundleReader& variables) {
  return ColumnFinder(graph, variables).Run();
}

}  // namespace tpuest::cli
