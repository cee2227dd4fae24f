#include "core/ops/parse_plan.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "core/io/examples/example.h"

namespace tpuest::ops {
namespace {

FeatureKind KindOf(DType dtype) {
  if (dtype == DType::kString) return FeatureKind::kBytes;
  return dtype == DType::kFloat ? FeatureKind::kFloat : FeatureKind::kInt64;
}

// TensorFlow's name for the type of the values in a tf.Example's list.
std::string_view TypeNameOf(FeatureKind kind) {
  if (kind == FeatureKind::kBytes) return "string";
  return kind == FeatureKind::kFloat ? "float" : "int64";
}

// Parses rows one after the other.
class Parser {
 public:
  explicit Parser(PlanContext& context) : node_(&context.node()) {
    const ParseLayout layout(context.node());
    const auto& types = context.Attr<std::vector<DType>>("Tdense");
    const auto& shapes = context.Attr<std::vector<Shape>>("dense_shapes");
    const std::vector<std::string> keys = Checked(DenseKeys(*node_), layout.dense, "dense");
    for (int i = 0; i < layout.dense; ++i) {
      const auto at = static_cast<size_t>(i);
      const int input = layout.first_default() + i;
      const bool has_default = context.InputShape(input).elements() > 0;
      dense_.push_back({keys[at], KindOf(types[at]), shapes[at], context.Input(input), has_default,
                        context.Output(layout.first_dense() + i)});
    }
    AddSparse(context, layout);
    for (size_t i = 0; i < dense_.size(); ++i) by_key_[dense_[i].key] = i;
    for (size_t i = 0; i < sparse_.size(); ++i) by_key_[sparse_[i].key] = dense_.size() + i;
    serialized_ = context.Input(0);
    rows_ = context.InputShape(0).elements();
    if (context.InputShape(1).elements() > 0) names_ = context.Input(1);
  }

  void Run(const Task& task) const {
    std::vector<char> seen;
    std::vector<FeatureView> lists;
    std::vector<Written> written(sparse_.size());
    for (int64_t row = 0; row < rows_; ++row) {
      seen.assign(dense_.size(), 0);
      lists.assign(sparse_.size(), {});
      tpuest::ParseExample(task.At<std::string_view>(serialized_)[row],
                           [&](const FeatureView& feature) {
                             const auto found = by_key_.find(feature.name);
                             // A feature without a list counts as missing.
                             if (found == by_key_.end() || feature.kind == FeatureKind::kNone)
                               return;
                             if (found->second >= dense_.size()) {
                               lists[found->second - dense_.size()] = feature;
                               return;
                             }
                             seen[found->second] = 1;
                             Take(task, row, dense_[found->second], feature);
                           });
      for (size_t i = 0; i < dense_.size(); ++i) {
        if (seen[i] == 0) TakeDefault(task, row, dense_[i]);
      }
      for (size_t i = 0; i < sparse_.size(); ++i) {
        Append(task, row, sparse_[i], lists[i], written[i]);
      }
    }
    for (size_t i = 0; i < sparse_.size(); ++i) WriteShape(task, sparse_[i], written[i]);
  }

 private:
  struct Dense {
    std::string key;
    FeatureKind kind;
    Shape shape;
    Buffer default_value;
    bool has_default;
    Buffer out;
  };

  // A sparse feature; the values of all rows are stored one after the other.
  struct Sparse {
    std::string key;
    FeatureKind kind;
    int64_t count;  // capacity in values
    Buffer indices;
    Buffer values;
    Buffer shape;
  };
  struct Written {
    int64_t count = 0;
    int64_t longest = 0;
  };

  std::vector<std::string> Checked(std::vector<std::string> keys, int features,
                                   std::string_view kind) const {
    if (static_cast<int>(keys.size()) == features) return keys;
    if (keys.empty()) Refuse(*node_, fmt::format("its {}_keys must be constant", kind));
    Refuse(*node_,
           fmt::format("found {} {}_keys for {} {} features", keys.size(), kind, features, kind));
  }

  void AddSparse(PlanContext& context, const ParseLayout& layout) {
    const auto& types = context.Attr<std::vector<DType>>("sparse_types");
    const std::vector<std::string> keys = Checked(SparseKeys(*node_), layout.sparse, "sparse");
    for (int i = 0; i < layout.sparse; ++i) {
      const auto at = static_cast<size_t>(i);
      sparse_.push_back({keys[at], KindOf(types[at]),
                         context.OutputShape(layout.values(i)).elements(),
                         context.Output(layout.indices(i)), context.Output(layout.values(i)),
                         context.Output(layout.shape(i))});
    }
    rank_ = context.InputShape(0).rank() + 1;
  }

  [[noreturn]] static void Refuse(const Node& node, const std::string& what) {
    throw Error(Code::kUsage, fmt::format("{} '{}': {}", node.type(), node.name(), what))
        .At(node.origin());
  }

  [[noreturn]] void Wrong(const Task& task, int64_t row, const std::string& what) const {
    const std::string_view name =
        names_.id < 0 ? std::string_view("<unknown>") : task.At<std::string_view>(names_)[row];
    throw Error(
        Code::kData, fmt::format("Name: {}, {}", name, what),
        fmt::format("example {} of the batch, in {} '{}'", row, node_->type(), node_->name()))
        .At(node_->origin());
  }

  void CheckKind(const Task& task, int64_t row, const std::string& key, FeatureKind expected,
                 const FeatureView& feature) const {
    if (feature.kind == expected) return;
    Wrong(task, row,
          fmt::format("Key: {}, Index: {}.  Data types don't match. Data type: {} but expected "
                      "type: {}",
                      key, row, TypeNameOf(feature.kind), TypeNameOf(expected)));
  }

  void Append(const Task& task, int64_t row, const Sparse& sparse, const FeatureView& feature,
              Written& written) const {
    if (feature.kind == FeatureKind::kNone) return;
    CheckKind(task, row, sparse.key, sparse.kind, feature);
    const auto count = static_cast<int64_t>(feature.count);
    Check(written.count + count <= sparse.count, "'{}' is planned for other examples",
          node_->name());
    int64_t* index = task.At<int64_t>(sparse.indices) + written.count * rank_;
    for (int64_t k = 0; k < count; ++k) {
      if (rank_ > 1) *index++ = row;
      *index++ = k;
    }
    switch (sparse.kind) {
      case FeatureKind::kBytes:
        feature.CopyBytes(
            {task.At<std::string_view>(sparse.values) + written.count, feature.count});
        break;
      case FeatureKind::kFloat:
        feature.CopyFloats({task.At<float>(sparse.values) + written.count, feature.count});
        break;
      default:
        feature.CopyInts({task.At<int64_t>(sparse.values) + written.count, feature.count});
    }
    written.count += count;
    written.longest = std::max(written.longest, count);
  }

  void WriteShape(const Task& task, const Sparse& sparse, const Written& written) const {
    int64_t* const shape = task.At<int64_t>(sparse.shape);
    if (rank_ > 1) shape[0] = rows_;
    shape[rank_ - 1] = written.longest;
  }

  void Take(const Task& task, int64_t row, const Dense& dense, const FeatureView& feature) const {
    CheckKind(task, row, dense.key, dense.kind, feature);
    const auto count = static_cast<size_t>(dense.shape.elements());
    if (feature.count != count) {
      Wrong(task, row,
            fmt::format("Key: {}, Index: {}.  Number of {} values != expected.  Values size: {} "
                        "but output shape: {}",
                        dense.key, row, TypeNameOf(dense.kind), feature.count, dense.shape.Text()));
    }
    switch (dense.kind) {
      case FeatureKind::kBytes:
        return feature.CopyBytes({RowOf<std::string_view>(task, dense, row), count});
      case FeatureKind::kFloat:
        return feature.CopyFloats({RowOf<float>(task, dense, row), count});
      default:
        return feature.CopyInts({RowOf<int64_t>(task, dense, row), count});
    }
  }

  void TakeDefault(const Task& task, int64_t row, const Dense& dense) const {
    const int64_t count = dense.shape.elements();
    if (!dense.has_default && count > 0) {
      Wrong(task, row,
            fmt::format("Feature: {} (data type: {}) is required but could not be found.",
                        dense.key, TypeNameOf(dense.kind)));
    }
    switch (dense.kind) {
      case FeatureKind::kBytes:
        return CopyDefault<std::string_view>(task, row, dense);
      case FeatureKind::kFloat:
        return CopyDefault<float>(task, row, dense);
      default:
        return CopyDefault<int64_t>(task, row, dense);
    }
  }

  template <class T>
  void CopyDefault(const Task& task, int64_t row, const Dense& dense) const {
    std::copy_n(task.At<T>(dense.default_value), dense.shape.elements(),
                RowOf<T>(task, dense, row));
  }

  template <class T>
  static T* RowOf(const Task& task, const Dense& dense, int64_t row) {
    return task.At<T>(dense.out) + row * dense.shape.elements();
  }

  const Node* node_;
  Buffer serialized_;
  Buffer names_;  // id -1 if there are no names
  int64_t rows_ = 0;
  int rank_ = 2;  // rank of a sparse feature's indices
  std::vector<Dense> dense_;
  std::vector<Sparse> sparse_;
  std::unordered_map<std::string_view, size_t> by_key_;  // dense features, then sparse features
};

// The strings of inputs first .. first + count - 1.
std::vector<std::string> KeysOf(const Node& node, int first, int count) {
  std::vector<std::string> keys;
  for (int i = first; i < first + count; ++i) {
    const Tensor given = ConstantValue(node.input(i));
    if (!given.valid()) return {};
    for (const std::string_view key : given.strings()) keys.emplace_back(key);
  }
  return keys;
}

}  // namespace

ParseLayout::ParseLayout(const Node& node)
    : v2(node.type() == "ParseExampleV2"),
      dense(static_cast<int>(node.Attr<std::vector<DType>>("Tdense").size())),
      sparse(static_cast<int>(node.Attr<int64_t>(v2 ? "num_sparse" : "Nsparse"))),
      ragged(v2 ? static_cast<int>(node.Attr<std::vector<DType>>("ragged_value_types").size())
                : 0) {}

std::vector<std::string> SparseKeys(const Node& node) {
  const ParseLayout layout(node);
  return KeysOf(node, layout.first_sparse_key(), layout.v2 ? 1 : layout.sparse);
}

std::vector<std::string> DenseKeys(const Node& node) {
  const ParseLayout layout(node);
  return KeysOf(node, layout.first_dense_key(), layout.v2 ? 1 : layout.dense);
}

std::vector<int64_t> CountValues(const Tensor& serialized, const std::vector<std::string>& keys) {
  std::vector<int64_t> counts(keys.size(), 0);
  std::vector<int64_t> of_row;
  for (const std::string_view example : serialized.strings()) {
    of_row.assign(keys.size(), 0);
    tpuest::ParseExample(example, [&](const FeatureView& feature) {
      const auto found = std::find(keys.begin(), keys.end(), feature.name);
      if (found == keys.end() || feature.kind == FeatureKind::kNone) return;
      of_row[static_cast<size_t>(found - keys.begin())] = static_cast<int64_t>(feature.count);
    });
    for (size_t i = 0; i < keys.size(); ++i) counts[i] += of_row[i];
  }
  return counts;
}

void PlanParseExample(PlanContext& context) {
  const auto parser = std::make_shared<const Parser>(context);
  context.Run([parser](const Task& task) { parser->Run(task); });
}

}  // namespace tpuest::ops
