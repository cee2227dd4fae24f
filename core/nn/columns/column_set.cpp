#include "core/nn/columns/column_set.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <utility>

#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/nn/columns/column_checks.h"
#include "core/nn/job_place.h"
#include "core/nn/vocabulary_file.h"

namespace tpuest::nn {
namespace {

template <class T>
inline constexpr bool kHasKey = requires(const T& column) {
  column.key;
};

// ---- names --------------------------------------------------------------------------------------

struct Namer {
  const ColumnSet& set;

  std::string operator()(const BucketizedColumn& c) const {
    return NumbersOf(set, c).key + "_bucketized";
  }
  std::string operator()(const WeightedCategoricalColumn& c) const {
    return Of(c.categorical_column, c.place) + "_weighted_by_" + c.weight_feature_key;
  }
  std::string operator()(const CrossedColumn& c) const {
    std::vector<std::string> names;
    for (const std::string& leaf : set.LeavesOf(c)) {
      names.push_back(set.CrossesColumn(leaf) ? set.NameOf(leaf) : leaf);
    }
    std::sort(names.begin(), names.end());
    return Join(names, "_X_");
  }
  std::string operator()(const IndicatorColumn& c) const {
    return Of(c.categorical_column, c.place) + "_indicator";
  }
  std::string operator()(const EmbeddingColumn& c) const {
    return Of(c.categorical_column, c.place) + "_embedding";
  }
  std::string operator()(const TpuEmbeddingColumn& c) const {
    return Of(c.categorical_column, c.place) + "_embedding";
  }
  std::string operator()(const SharedEmbeddingColumns& c) const { return SharedName(set, c); }
  std::string operator()(const TpuSharedEmbeddingColumns& c) const { return SharedName(set, c); }
  template <class T>
  std::string operator()(const T& c) const {
    return c.key;
  }

  [[nodiscard]] std::string Of(const std::string& name, const Place& from) const {
    std::ignore = CategoricalOf(set, name, from, "this column");
    return set.NameOf(name);
  }
};

// ---- sizes --------------------------------------------------------------------------------------

struct Sizer {
  const ColumnSet& set;

  int64_t operator()(const BucketizedColumn& c) const {
    const NumericColumn& source = NumbersOf(set, c);
    return (static_cast<int64_t>(c.boundaries.size()) + 1) *
           Shape(DimsOf(source.shape, source.key)).elements();
  }
  template <bool sequence>
  int64_t operator()(const VocabularyListColumnOf<sequence>& c) const {
    return static_cast<int64_t>(c.vocabulary_list.size()) + c.num_oov_buckets;
  }
  template <bool sequence>
  int64_t operator()(const VocabularyFileColumnOf<sequence>& c) const {
    return static_cast<int64_t>(VocabularyLines(c.vocabulary_file, c.vocabulary_size).size()) +
           c.num_oov_buckets;
  }
  template <bool sequence>
  int64_t operator()(const HashBucketColumnOf<sequence>& c) const {
    return c.hash_bucket_size;
  }
  template <bool sequence>
  int64_t operator()(const IdentityColumnOf<sequence>& c) const {
    return c.num_buckets;
  }
  int64_t operator()(const WeightedCategoricalColumn& c) const {
    return set.BucketsOf(c.categorical_column);
  }
  int64_t operator()(const CrossedColumn& c) const { return c.hash_bucket_size; }
  template <class T>
  int64_t operator()(const T& c) const {
    Refuse(c.place, fmt::format("a {} is not a categorical column", T::kType));
  }
};

// ---- what features are read ---------------------------------------------------------------------

DType ParsedDType(const std::string& dtype) {
  if (dtype == "string") return DType::kString;
  return dtype == "int64" || dtype == "int32" ? DType::kInt64 : DType::kFloat;
}

std::string TextOf(const FeatureSpec& spec) {
  return spec.shape ? fmt::format("FixedLenFeature(shape={}, dtype={})", spec.shape->Text(),
                                  NameOf(spec.dtype))
                    : fmt::format("VarLenFeature(dtype={})", NameOf(spec.dtype));
}

// Calls `put` for each feature that a column reads, as often as one of its parts reads it.
class Reads {
 public:
  using Put = std::function<void(const std::string& key, const FeatureSpec& spec, const Place&)>;

  Reads(const ColumnSet& set, Put put) : set_(set), put_(std::move(put)) {}

  void Add(const std::string& name, const Place& from) { std::visit(*this, set_.At(name, from)); }

  void operator()(const NumericColumn& c) {
    put_(c.key, {ParsedDType(c.dtype), Shape(DimsOf(c.shape, c.key)), c.default_value}, c.place);
  }
  void operator()(const SequenceNumericColumn& c) {
    put_(c.key, {DType::kFloat, std::nullopt, {}}, c.place);
  }
  void operator()(const BucketizedColumn& c) { Add(c.source_column, c.place); }
  void operator()(const WeightedCategoricalColumn& c) {
    Add(c.categorical_column, c.place);
    put_(c.weight_feature_key, {ParsedDType(c.dtype), std::nullopt, {}}, c.place);
  }
  void operator()(const CrossedColumn& c) {
    for (const std::string& leaf : set_.LeavesOf(c)) {
      if (set_.CrossesColumn(leaf)) {
        Add(leaf, c.place);
      } else {
        put_(leaf, {DType::kString, std::nullopt, {}}, c.place);
      }
    }
  }
  void operator()(const IndicatorColumn& c) { Add(c.categorical_column, c.place); }
  void operator()(const EmbeddingColumn& c) { Add(c.categorical_column, c.place); }
  void operator()(const TpuEmbeddingColumn& c) { Add(c.categorical_column, c.place); }
  void operator()(const SharedEmbeddingColumns& c) { AddAll(c.categorical_columns, c.place); }
  void operator()(const TpuSharedEmbeddingColumns& c) { AddAll(c.categorical_columns, c.place); }
  template <bool sequence>
  void operator()(const VocabularyListColumnOf<sequence>& c) {
    put_(c.key, {c.is_text() ? DType::kString : DType::kInt64, std::nullopt, {}}, c.place);
  }
  template <bool sequence>
  void operator()(const IdentityColumnOf<sequence>& c) {
    put_(c.key, {DType::kInt64, std::nullopt, {}}, c.place);
  }
  template <class T>
  void operator()(const T& c) {
    put_(c.key, {ParsedDType(c.dtype), std::nullopt, {}}, c.place);
  }

 private:
  void AddAll(const std::vector<std::string>& names, const Place& from) {
    for (const std::string& name : names) Add(name, from);
  }

  const ColumnSet& set_;
  const Put put_;
};

}  // namespace

const FeatureColumn& ColumnSet::At(const std::string& job_name, const Place& from) const {
  const auto found = columns_.find(job_name);
  if (found != columns_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_) names.push_back(name);
  const auto nearest = Nearest(job_name, names);
  Refuse(from, fmt::format("'{}' is not in feature_columns", job_name),
         nearest ? fmt::format("did you mean '{}'?", *nearest)
                 : fmt::format("there are: {}", names.empty() ? "none" : Join(names, ", ")));
}

std::vector<ColumnRef> ColumnSet::Select(const std::vector<std::string>& names,
                                         const std::string& key) const {
  const auto fail = [&](std::string message) {
    throw Error(Code::kUsage, std::move(message)).Key(key);
  };
  if (names.empty()) fail("feature_columns must not be empty.");
  std::vector<ColumnRef> selected;
  for (const std::string& name : names) {
    if (!Has(name)) {
      try {
        std::ignore = At(name, {});
      } catch (Error& error) {
        throw std::move(error).Key(key);
      }
    }
    const FeatureColumn& column = At(name, {});
    CheckColumn(*this, column);
    if (const std::vector<std::string>* const members = MembersOf(column)) {
      for (const std::string& member : *members) {
        selected.push_back({name, NameOf(member) + "_shared_embedding", member});
      }
    } else {
      selected.push_back({name, NameOf(name), ""});
    }
  }
  std::stable_sort(selected.begin(), selected.end(),
                   [](const ColumnRef& a, const ColumnRef& b) { return a.name < b.name; });
  for (size_t i = 1; i < selected.size(); ++i) {
    if (selected[i].name != selected[i - 1].name) continue;
    fail(
        fmt::format("Duplicate feature column name found for columns: {} and {}. This usually "
                    "means that these columns refer to same base feature. Either one must be "
                    "discarded or a duplicated but renamed item must be inserted in features "
                    "dict.",
                    selected[i - 1].job_name, selected[i].job_name));
  }
  return selected;
}

std::string ColumnSet::NameOf(const std::string& job_name) const {
  return std::visit(Namer{*this}, At(job_name, {}));
}

int64_t ColumnSet::BucketsOf(const std::string& job_name) const {
  return std::visit(Sizer{*this}, At(job_name, {}));
}

bool ColumnSet::IsSequence(const std::string& job_name) const {
  const FeatureColumn& column = At(job_name, {});
  return std::visit(
      [&]<class T>(const T& c) {
        if constexpr (requires { T::kSequence; }) return T::kSequence;
        if constexpr (std::is_same_v<T, WeightedCategoricalColumn>) {
          return IsSequence(c.categorical_column);
        }
        return false;
      },
      column);
}

std::vector<std::string> ColumnSet::LeavesOf(const CrossedColumn& column) const {
  std::vector<std::string> leaves;
  std::set<const CrossedColumn*> open;
  const auto collect = [&](const auto& self, const CrossedColumn& cross) -> void {
    if (!open.insert(&cross).second) Refuse(cross.place, "this column is one of its own keys");
    for (const std::string& key : cross.keys) {
      const auto found = columns_.find(key);
      const FeatureColumn* const inner = found == columns_.end() ? nullptr : &found->second;
      if (inner != nullptr && std::holds_alternative<WeightedCategoricalColumn>(*inner)) {
        Refuse(cross.place, fmt::format("crossed_column does not support weight_tensor, but the "
                                        "given column populates weight_tensor. Given column: {}",
                                        key));
      }
      if (inner != nullptr && std::holds_alternative<CrossedColumn>(*inner)) {
        self(self, std::get<CrossedColumn>(*inner));
      } else {
        leaves.push_back(key);
      }
    }
    open.erase(&cross);
  };
  collect(collect, column);
  return leaves;
}

bool ColumnSet::CrossesColumn(const std::string& key) const {
  const auto found = columns_.find(key);
  if (found == columns_.end() || !IsCategorical(found->second)) return false;
  return std::visit(
      [&]<class T>(const T& c) {
        if constexpr (kHasKey<T>) return c.key != key;
        return true;
      },
      found->second);
}

std::map<std::string, FeatureSpec> ColumnSet::ParseSpec(
    const std::vector<ColumnRef>& columns) const {
  std::map<std::string, FeatureSpec> parsed;
  Reads reads(*this, [&](const std::string& key, const FeatureSpec& spec, const Place& place) {
    const auto [at, is_new] = parsed.emplace(key, spec);
    if (is_new || (at->second.dtype == spec.dtype && at->second.shape == spec.shape &&
                   at->second.default_value == spec.default_value)) {
      return;
    }
    Refuse(place, fmt::format("feature_columns contain different parse_spec for key {}. Given {} "
                              "and {}",
                              key, TextOf(at->second), TextOf(spec)));
  });
  for (const ColumnRef& column : columns) reads.Add(column.job_name, {});
  return parsed;
}

std::set<std::string> ColumnSet::ReadAsLists(const std::vector<ColumnRef>& columns) const {
  std::set<std::string> lists;
  Reads reads(*this, [&](const std::string& key, const FeatureSpec& spec, const Place&) {
    if (!spec.shape) lists.insert(key);
  });
  for (const ColumnRef& column : columns) reads.Add(column.job_name, {});
  return lists;
}

std::vector<Fault> ColumnSet::Faults() const {
  tpuest::Faults faults;
  for (const auto& [name, column] : columns_)
    faults.Catch([&, &column = column] { CheckColumn(*this, column); });
  return faults.Take();
}

const Place& PlaceOf(const FeatureColumn& column) {
  return std::visit([](const auto& c) -> const Place& { return c.place; }, column);
}

bool IsCategorical(const FeatureColumn& column) {
  return std::visit(
      []<class T>(const T& /*c*/) {
        return (kHasKey<T> && !std::is_same_v<T, NumericColumn> &&
                !std::is_same_v<T, SequenceNumericColumn>) ||
               std::is_same_v<T, BucketizedColumn> ||
               std::is_same_v<T, WeightedCategoricalColumn> || std::is_same_v<T, CrossedColumn>;
      },
      column);
}

std::vector<int64_t> DimsOf(const ColumnShape& shape, const std::string& key) {
  const auto* const one = std::get_if<int64_t>(&shape);
  std::vector<int64_t> dims =
      one != nullptr ? std::vector<int64_t>{*one} : std::get<std::vector<int64_t>>(shape);
  std::vector<std::string> texts;
  for (const int64_t dim : dims) texts.push_back(std::to_string(dim));
  const auto fail = [&](std::string_view what) {
    throw Error(Code::kUsage, fmt::format("shape dimensions must be {}. shape: ({}), key: {}", what,
                                          Join(texts, ", "), key));
  };
  int64_t numbers = 1;
  for (const int64_t dim : dims) {
    if (dim <= 0) fail("greater than 0");
    if (dim > kMostOfAColumn / numbers) fail("smaller");
    numbers *= dim;
  }
  return dims;
}

std::string ScopeOf(std::string_view column_name) {
  std::string scope(column_name);
  for (char& c : scope) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') {
      c = '_';
    }
  }
  return scope;
}

namespace {

template <class Shared>
std::string SharedNameOf(const ColumnSet& set, const Shared& column) {
  if (column.shared_embedding_collection_name) return *column.shared_embedding_collection_name;
  std::vector<std::string> names;
  for (const std::string& name : column.categorical_columns) names.push_back(set.NameOf(name));
  std::sort(names.begin(), names.end());
  return Join(names, "_") + "_shared_embedding";
}

}  // namespace

std::string SharedName(const ColumnSet& set, const SharedEmbeddingColumns& column) {
  return SharedNameOf(set, column);
}

std::string SharedName(const ColumnSet& set, const TpuSharedEmbeddingColumns& column) {
  return SharedNameOf(set, column);
}

const std::vector<std::string>* MembersOf(const FeatureColumn& column) {
  return std::visit(
      []<class T>(const T& c) -> const std::vector<std::string>* {
        if constexpr (requires { c.categorical_columns; }) return &c.categorical_columns;
        return nullptr;
      },
      column);
}

}  // namespace tpuest::nn

namespace tpuest {
template class OneOf<nn::FeatureColumnTypes>;
}  // namespace tpuest
