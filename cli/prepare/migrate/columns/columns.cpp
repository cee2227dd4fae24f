#include "cli/prepare/migrate/columns/columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/prepare/migrate/columns/column_nodes.h"
#include "cli/prepare/migrate/columns/crosses.h"
#include "cli/prepare/migrate/columns/normalizers.h"
#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/graph/numbers.h"
#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kWeightedBy = "_weighted_by_";

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

// Removes an ending from a name. Returns false if the name lacks it or has nothing before it.
bool Strip(std::string& name, std::string_view ending) {
  if (!EndsWith(name, ending) || name.size() == ending.size()) return false;
  name.resize(name.size() - ending.size());
  return true;
}

std::string Text(const std::string& name) { return config::StringText(name); }

// Collects columns and features, and names them.
class ColumnList {
 public:
  explicit ColumnList(const ColumnGraph& graph) : graph_(graph) {}

  [[nodiscard]] MigratedColumns& found() { return found_; }
  void Miss(std::string what) { found_.unknown.push_back(std::move(what)); }

  // A feature that is read as numbers and as words is written as the first says.
  MigratedFeature& AddFeature(const std::string& name, const std::string& dtype, int64_t size) {
    return found_.features.try_emplace(name, MigratedFeature{dtype, size}).first->second;
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

  // Returns the column's name in the job. `tensor` is what its numbers are made into; "" is not
  // known.
  std::string AddNumeric(const std::string& name, int64_t size, const std::string& tensor) {
    AddFeature(name, "float32", size).is_number = true;
    const MigratedFormula formula =
        tensor.empty() ? MigratedFormula{.text = "x"} : FindFormula(graph_.graph(), tensor);
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

  std::string AddBucketized(const std::string& name, const SeenNode& node) {
    std::string source = name;
    Strip(source, "_bucketized");
    const auto boundaries = node.floats.find("boundaries");
    if (boundaries == node.floats.end()) {
      Miss(fmt::format("feature column {}: its boundaries", name));
    }
    const int64_t size = graph_.BucketizedSize(node);
    const std::string of = AddNumeric(source, size, node.inputs.empty() ? "" : node.inputs[0]);
    std::vector<double>& numbers = found_.features[source].numbers;
    if (boundaries != node.floats.end()) {
      numbers.insert(numbers.end(), boundaries->second.begin(), boundaries->second.end());
    }
    return Put(name, fmt::format(
                         "{{type: bucketized_column, source_column: {}, boundaries: {}}}", Text(of),
                         boundaries == node.floats.end() ? "[]" : ListText(boundaries->second)));
  }

 private:
  const ColumnGraph& graph_;
  MigratedColumns found_;
};

// Collects crossed columns. They name other columns, so they are written last.
class CrossedColumns {
 public:
  CrossedColumns(const ColumnGraph& graph, ColumnList& list) : graph_(graph), list_(list) {}

  // `rows` is the number of categories of the column's variable.
  void Add(const std::string& name, const SeenNode& node, const ColumnNodes& nodes, int64_t rows) {
    crossings_.push_back({name, &node, nodes, rows});
  }

  // Adds the crossed columns to the list, after every column that has a variable or a place in the
  // network has its name.
  void Write() {
    for (const Crossing& crossing : crossings_) FindKeys(crossing);
    for (const auto& [name, cross] : crosses_) {
      std::vector<std::string> keys;
      for (const CrossedKey& key : cross.keys) {
        keys.push_back(Text(key.is_column ? OtherName(name, key.name) : key.name));
      }
      list_.found().columns[name] =
          fmt::format("{{type: crossed_column, keys: [{}], {}}}", Join(keys, ", "), cross.rest);
    }
  }

 private:
  struct Cross {
    std::vector<CrossedKey> keys;
    std::string rest;  // of its YAML
  };
  struct Crossing {
    std::string name;
    const SeenNode* node = nullptr;
    ColumnNodes nodes;
    int64_t rows = 0;
  };

  void FindKeys(const Crossing& crossing) {
    const auto& [name, crossed, nodes, rows] = crossing;
    const SeenNode& node = *crossed;
    MigratedCross cross = FindCross(graph_.graph(), node, name);
    if (!cross.is_known) list_.Miss(fmt::format("feature column {}: the order of its keys", name));
    for (CrossedKey& key : cross.keys) {
      if (key.is_column) continue;  // it says what it reads
      if (!EndsWith(key.name, "_bucketized")) {
        list_.AddFeature(key.name, key.is_number ? "int64" : "string",
                         std::max<int64_t>(1, graph_.SizeIn(key.tensor)));
        continue;
      }
      const SeenNode* const bucketize =
          key.bucketize != nullptr ? key.bucketize : FindOp(nodes, "Bucketize");
      if (bucketize != nullptr) key.name = list_.AddBucketized(key.name, *bucketize);
    }
    const int64_t buckets = node.ints.contains("num_buckets") ? node.ints.at("num_buckets") : rows;
    constexpr int64_t kDefaultKey = 0xDECAFCAFFE;
    const auto key = node.ints.find("hash_key");
    const std::string hash_key = key == node.ints.end() || key->second == kDefaultKey
                                     ? ""
                                     : fmt::format(", hash_key: {}", key->second);
    crosses_[name] = {cross.keys, fmt::format("hash_bucket_size: {}{}", buckets, hash_key)};
  }

  // A key of a cross that names both a column and a feature means the feature. The column gets a
  // second name for the cross.
  std::string OtherName(const std::string& cross, const std::string& column) {
    const auto found = list_.found().columns.find(column);
    if (found == list_.found().columns.end()) {
      list_.Miss(fmt::format("feature column {}: the column {} that it crosses", cross, column));
      list_.AddFeature(column, "string", 1);
      return column;
    }
    std::string other = column + "_ids";
    list_.found().columns[other] = found->second;
    return other;
  }

  const ColumnGraph& graph_;
  ColumnList& list_;
  std::vector<Crossing> crossings_;
  std::map<std::string, Cross> crosses_;
};

// Finds categorical columns by the ops that make their categories.
class CategoricalColumns {
 public:
  CategoricalColumns(const ColumnGraph& graph, ColumnList& list, CrossedColumns& crosses)
      : graph_(graph), list_(list), crosses_(crosses) {}

  // Returns the column's name in the job. `rows` is the number of categories of its variable.
  std::string Add(const std::string& name, const ColumnNodes& nodes, int64_t rows) {
    if (const size_t at = name.find(kWeightedBy); at != std::string::npos) {
      return AddWeighted(name, at, nodes, rows);
    }
    for (const char* const op : {"SparseCross", "SparseCrossV2", "SparseCrossHashed"}) {
      const SeenNode* const node = FindOp(nodes, op);
      if (node == nullptr) continue;
      crosses_.Add(name, *node, nodes, rows);
      return name;
    }
    if (const SeenNode* const node = FindOp(nodes, "Bucketize")) {
      return list_.AddBucketized(name, *node);
    }
    if (const SeenNode* const words = FindWords(nodes)) {
      return AddVocabulary(name, *words->value, nodes, rows);
    }
    // Before the hashes, which give the buckets of words that are not in the file.
    if (FindOp(nodes, "InitializeTableFromTextFileV2") != nullptr) {
      return AddFile(name, nodes, rows);
    }
    if (const SeenNode* const node = FindOp(nodes, "StringToHashBucketFast")) {
      const bool is_number = FindOp(nodes, "AsString") != nullptr;
      list_.AddFeature(name, is_number ? "int64" : "string", graph_.ReadSize(nodes));
      const int64_t buckets =
          node->ints.contains("num_buckets") ? node->ints.at("num_buckets") : rows;
      return list_.Put(name, fmt::format("{{type: categorical_column_with_hash_bucket, key: {}, "
                                         "hash_bucket_size: {}{}}}",
                                         Text(name), buckets, is_number ? ", dtype: int64" : ""));
    }
    MigratedFeature& feature = list_.AddFeature(name, "int64", graph_.ReadSize(nodes));
    feature.categories = std::max(feature.categories, rows);
    const SeenNode* const fill = FindNamed(nodes, "/default_values", "Fill");
    return list_.Put(
        name, fmt::format("{{type: categorical_column_with_identity, key: {}, num_buckets: {}{}}}",
                          Text(name), rows, fill == nullptr ? "" : DefaultAt(name, *fill, 1)));
  }

 private:
  // Returns the constant with a vocabulary's words. The lookup of a table in several parts has a
  // constant of the same name: the number of rows.
  [[nodiscard]] static const SeenNode* FindWords(const ColumnNodes& nodes) {
    for (const SeenNode* const node : nodes) {
      const bool is_of_rows = node->name.ends_with("/embedding_lookup/Const");
      const bool is_named = node->op == "Const" && node->name.ends_with("_lookup/Const");
      if (!is_named || !node->value) continue;
      if (!is_of_rows || node->value->shape().rank() > 0) return node;
    }
    return nullptr;
  }

  // "town_weighted_by_share": the categories of town, each with the weight that share has there.
  std::string AddWeighted(const std::string& name, size_t at, const ColumnNodes& nodes,
                          int64_t rows) {
    const std::string weight = name.substr(at + kWeightedBy.size());
    const std::string of = Add(name.substr(0, at), nodes, rows);
    list_.AddFeature(weight, "float32", 1);
    return list_.Put(
        name,
        fmt::format(
            "{{type: weighted_categorical_column, categorical_column: {}, weight_feature_key: {}}}",
            Text(of), Text(weight)));
  }

  // ", default_value: 2" for the number at an input; -1, which stands for none, needs no word.
  std::string DefaultAt(const std::string& name, const SeenNode& node, size_t input) {
    const auto value = ScalarAt(graph_.graph(), node, input);
    if (!value) list_.Miss(fmt::format("feature column {}: its default_value", name));
    return !value || *value == -1
               ? ""
               : fmt::format(", default_value: {}", static_cast<int64_t>(*value));
  }

  // The default_value for a word that is not in the table, if such words have no buckets.
  std::string TableDefault(const std::string& name, const ColumnNodes& nodes, int64_t oov) {
    const SeenNode* const find = FindOp(nodes, "LookupTableFindV2");
    return find == nullptr || oov > 0 ? "" : DefaultAt(name, *find, 2);
  }

  std::string AddVocabulary(const std::string& name, const Tensor& words, const ColumnNodes& nodes,
                            int64_t rows) {
    MigratedFeature& feature = list_.AddFeature(
        name, words.dtype() == DType::kString ? "string" : "int64", graph_.ReadSize(nodes));
    for (int64_t i = 0; i < words.elements(); ++i) {
      if (words.dtype() == DType::kString) {
        feature.words.emplace_back(words.strings()[static_cast<size_t>(i)]);
      } else {
        feature.numbers.push_back(words.AsDouble(i));
      }
    }
    const int64_t oov = rows - words.elements();
    return list_.Put(
        name,
        fmt::format(
            "{{type: categorical_column_with_vocabulary_list, key: {}, vocabulary_list: {}{}{}}}",
            Text(name), ListText(words), oov > 0 ? fmt::format(", num_oov_buckets: {}", oov) : "",
            TableDefault(name, nodes, oov)));
  }

  // `rows` counts the file's words and the buckets of other words.
  std::string AddFile(const std::string& name, const ColumnNodes& nodes, int64_t rows) {
    const SeenNode* const init = FindOp(nodes, "InitializeTableFromTextFileV2");
    const SeenNode* const others = FindOp(nodes, "StringToHashBucketFast");
    const int64_t oov = others == nullptr || !others->ints.contains("num_buckets")
                            ? 0
                            : others->ints.at("num_buckets");
    const bool is_number = KeysAreNumbers(nodes);
    list_.AddFeature(name, is_number ? "int64" : "string", graph_.ReadSize(nodes));
    const auto file = graph_.graph().ConstantAt(*init, 1);
    const bool is_known = file && file->dtype() == DType::kString && file->elements() == 1;
    if (!is_known) list_.Miss(fmt::format("feature column {}: its vocabulary_file", name));
    return list_.Put(
        name, fmt::format(
                  "{{type: categorical_column_with_vocabulary_file, key: {}, vocabulary_file: {}, "
                  "vocabulary_size: {}{}{}{}}}",
                  Text(name), is_known ? config::StringText(file->strings()[0]) : "vocabulary.txt",
                  rows - oov, oov > 0 ? fmt::format(", num_oov_buckets: {}", oov) : "",
                  is_number ? ", dtype: int64" : "", TableDefault(name, nodes, oov)));
  }

  [[nodiscard]] static bool KeysAreNumbers(const ColumnNodes& nodes) {
    constexpr int64_t kString = 7;  // tensorflow.DataType
    const SeenNode* const table = FindOp(nodes, "HashTableV2");
    const bool is_known = table != nullptr && table->ints.contains("key_dtype");
    return is_known && table->ints.at("key_dtype") != kString;
  }

  const ColumnGraph& graph_;
  ColumnList& list_;
  CrossedColumns& crosses_;
};

// Finds a model's columns by its variables and by the scopes of its input layer.
class ColumnFinder {
 public:
  ColumnFinder(const SeenGraph& graph, const BundleReader& variables)
      : graph_(graph), variables_(variables) {}

  MigratedColumns Run() {
    for (const std::string& variable : variables_.Names()) FindLinear(variable);
    FindSparseCombiner();
    for (const auto& [scope, nodes] : graph_.DnnScopes()) FindDnn(scope, nodes);
    WriteShared();
    crosses_.Write();
    return std::move(list_.found());
  }

 private:
  // The variable "linear/linear_model/sex/weights" belongs to the column sex.
  void FindLinear(const std::string& variable) {
    std::string name = variable;
    if (!name.starts_with(kLinearModel) || !Strip(name, "/weights")) return;
    name = name.substr(kLinearModel.size());
    const ColumnNodes own = graph_.OfLinear(name);
    const ColumnNodes nodes = graph_.WithSources(own);
    const int64_t rows = variables_.ShapeOf(variable).dim(0);
    const bool is_sparse = name.find(kWeightedBy) != std::string::npos ||
                           FindOp(nodes, "SparseSegmentSum") != nullptr ||
                           FindOp(nodes, "SparseSegmentMean") != nullptr ||
                           FindOp(nodes, "SparseSegmentSqrtN") != nullptr;
    if (is_sparse) {
      combiners_.insert(CombinerOf(name, own));
      categories_.Add(name, nodes, rows);
    } else {
      list_.AddNumeric(name, rows, DenseInput(own));
    }
    list_.found().linear.push_back(name);
  }

  // All columns of a linear model combine the values of an example in one way. One whose nodes are
  // not there tells none.
  void FindSparseCombiner() {
    if (combiners_.size() == 1) list_.found().sparse_combiner = *combiners_.begin();
    if (combiners_.size() < 2) return;
    list_.Miss("the linear model's sparse_combiner: its columns have different ones");
  }

  // The tensor that a dense column makes its width of: what goes into its last Reshape.
  [[nodiscard]] static std::string DenseInput(const ColumnNodes& nodes) {
    const SeenNode* const reshape = FindNamed(nodes, "/Reshape", "Reshape");
    return reshape == nullptr || reshape->inputs.empty() ? "" : reshape->inputs[0];
  }

  void FindDnn(const std::string& scope, const ColumnNodes& own) {
    const ColumnNodes nodes = graph_.WithSources(own);
    std::string name = scope;
    Strip(name, "_1");
    std::string categories = name;
    if (Strip(categories, "_indicator")) {
      const std::string of = categories_.Add(categories, nodes, OneHotDepth(nodes));
      list_.found().columns[name] =
          fmt::format("{{type: indicator_column, categorical_column: {}}}", Text(of));
    } else if (Strip(categories, "_shared_embedding")) {
      AddShared(name, categories, own);
      return;
    } else if (Strip(categories, "_embedding")) {
      AddEmbedding(name, categories, nodes);
    } else if (const SeenNode* const bucketize = FindOp(nodes, "Bucketize")) {
      name = list_.AddBucketized(name, *bucketize);
    } else {
      name = list_.AddNumeric(name, Width(nodes), DenseInput(own));
    }
    list_.found().dnn.push_back(name);
  }

  void AddEmbedding(const std::string& name, const std::string& categories,
                    const ColumnNodes& nodes) {
    const std::string variable = fmt::format("{}{}/embedding_weights", kDnnInputLayer, name);
    if (!variables_.Has(variable)) {
      list_.Miss(fmt::format("feature column {}: its variable {} is not in the checkpoint", name,
                             variable));
      return;
    }
    const Shape shape = variables_.ShapeOf(variable);
    const std::string of = categories_.Add(categories, nodes, shape.dim(0));
    const char* const combiner = CombinerOf(categories, nodes);
    list_.found().columns[name] = fmt::format(
        "{{type: embedding_column, categorical_column: {}, dimension: {}, combiner: {}{}{}}}",
        Text(of), shape.dim(1), combiner, MaxNorm(name, nodes),
        graph_.IsTrained(variable) ? "" : ", trainable: false");
  }

  // The column reads a table that has no scope in the input layer, "m_n_shared_embedding". Version
  // 1 has it in there, where a job's model has none.
  void AddShared(const std::string& name, const std::string& categories, const ColumnNodes& own) {
    const SeenNode* const gather = FindOp(own, "ResourceGather");
    const SeenNode* const table =
        gather == nullptr ? nullptr : graph_.graph().Find(gather->inputs.at(0));
    const std::string variable = table == nullptr ? "" : table->name;
    if (!variables_.Has(variable) || variable.find('/') != std::string::npos) {
      list_.Miss(fmt::format("feature column {}: the table that it shares", name));
      return;
    }
    const ColumnNodes nodes = graph_.WithSources(own);
    const Shape shape = variables_.ShapeOf(variable);
    SharedTable& shared = shared_[variable];
    shared.members.push_back(Text(categories_.Add(categories, nodes, shape.dim(0))));
    shared.options =
        fmt::format("dimension: {}, combiner: {}{}{}", shape.dim(1), CombinerOf(categories, nodes),
                    MaxNorm(name, nodes), graph_.IsTrained(variable) ? "" : ", trainable: false");
  }

  void WriteShared() {
    for (const auto& [variable, shared] : shared_) {
      list_.found().columns[variable] = fmt::format(
          "{{type: shared_embedding_columns, categorical_columns: [{}], {}, "
          "shared_embedding_collection_name: {}}}",
          Join(shared.members, ", "), shared.options, Text(variable));
      list_.found().dnn.push_back(variable);
    }
  }

  // Weighted rows are summed, and divided by the sum of weights or the root of their squares' sum.
  [[nodiscard]] static const char* CombinerOf(const std::string& categories,
                                              const ColumnNodes& nodes) {
    if (categories.find(kWeightedBy) != std::string::npos) {
      if (FindOp(nodes, "Sqrt") != nullptr) return "sqrtn";
      return FindOp(nodes, "RealDiv") != nullptr || FindOp(nodes, "DivNoNan") != nullptr ? "mean"
                                                                                         : "sum";
    }
    if (FindOp(nodes, "SparseSegmentSqrtN") != nullptr) return "sqrtn";
    return FindOp(nodes, "SparseSegmentSum") != nullptr ? "sum" : "mean";
  }

  // Rows are shortened by tf.clip_by_norm: row * max_norm / max(norm, max_norm).
  std::string MaxNorm(const std::string& name, const ColumnNodes& nodes) {
    bool is_clipped = false;
    for (const SeenNode* const node : nodes) {
      if (node->name.find("clip_by_norm") == std::string::npos) continue;
      is_clipped = true;
      const auto norm = node->op == "Maximum" ? ScalarAt(graph_.graph(), *node, 1) : std::nullopt;
      if (norm) return ", max_norm: " + NumberText(static_cast<float>(*norm));
    }
    if (is_clipped) list_.Miss(fmt::format("feature column {}: its max_norm", name));
    return "";
  }

  [[nodiscard]] int64_t OneHotDepth(const ColumnNodes& nodes) const {
    const SeenNode* const node = FindOp(nodes, "OneHot");
    const auto depth = node == nullptr ? std::nullopt : graph_.graph().ConstantAt(*node, 1);
    return depth && depth->elements() == 1 ? static_cast<int64_t>(depth->AsDouble(0)) : 1;
  }

  // Every dense column ends in a Reshape to [batch, width].
  [[nodiscard]] static int64_t Width(const ColumnNodes& nodes) {
    const SeenNode* const width = FindNamed(nodes, "/Reshape/shape/1", "Const");
    return width != nullptr && width->value && width->value->elements() == 1
               ? static_cast<int64_t>(width->value->AsDouble(0))
               : 1;
  }

  // The part of a job that describes a table that several columns read.
  struct SharedTable {
    std::vector<std::string> members;  // categorical columns
    std::string options;
  };

  const ColumnGraph graph_;
  const BundleReader& variables_;
  std::map<std::string, SharedTable> shared_;  // by variable
  ColumnList list_{graph_};
  CrossedColumns crosses_{graph_, list_};
  CategoricalColumns categories_{graph_, list_, crosses_};
  std::set<std::string> combiners_;  // of the linear model's columns
};

}  // namespace

MigratedColumns FindColumns(const SeenGraph& graph, const BundleReader& variables) {
  return ColumnFinder(graph, variables).Run();
}

}  // namespace tpuest::cli
