#include "cli/look/explain/weights.h"

#include <map>
#include <set>
#include <utility>

#include "cli/job/job.h"
#include "core/base/text.h"
#include "core/kernels/fingerprint.h"
#include "core/nn/columns/column_set.h"
#include "core/nn/vocabulary_file.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kScope = "linear/linear_model/";

// The words of a feature in the kept rows.
std::set<std::string> WordsOf(const KeptRows& rows, const std::string& key) {
  std::set<std::string> words;
  for (size_t i = 0; i < rows.spec.features.size(); ++i) {
    if (rows.spec.features[i].name != key) continue;
    for (const Batch& batch : rows.batches) {
      const Tensor& feature = batch.features[i];
      for (int64_t k = 0; k < feature.elements(); ++k) {
        words.insert(feature.dtype() == DType::kString
                         ? std::string(feature.strings()[static_cast<size_t>(k)])
                         : std::to_string(static_cast<int64_t>(feature.AsDouble(k))));
      }
    }
  }
  words.erase("");
  words.erase("-1");
  return words;
}

struct Category {
  std::string name;
  bool named = true;
};

// The names of a column's ids, or of its numbers.
class Namer {
 public:
  Namer(const nn::FeatureColumns& columns, const KeptRows& rows) : columns_(columns), rows_(rows) {}

  [[nodiscard]] Category Of(const std::string& column, int64_t id, int64_t of) const {
    return std::visit([&](const auto& c) { return Name(c, id, of); }, columns_.at(column));
  }

 private:
  [[nodiscard]] static Category Name(const nn::NumericColumn& /*column*/, int64_t id, int64_t of) {
    return {of == 1 ? "" : fmt::format("[{}]", id)};
  }
  [[nodiscard]] Category Name(const nn::BucketizedColumn& column, int64_t id, int64_t of) const {
    const std::vector<double>& bounds = column.boundaries;
    const auto buckets = static_cast<int64_t>(bounds.size()) + 1;
    const auto bucket = static_cast<size_t>(id % buckets);
    std::string name;
    if (bucket == 0) {
      name = fmt::format("below {}", NumberText(bounds.front()));
    } else if (bucket == bounds.size()) {
      name = fmt::format("from {}", NumberText(bounds.back()));
    } else {
      name = fmt::format("{} to {}", NumberText(bounds[bucket - 1]), NumberText(bounds[bucket]));
    }
    return {of == buckets ? name : fmt::format("[{}] {}", id / buckets, name)};
  }
  template <bool sequence>
  [[nodiscard]] static Category Name(const nn::VocabularyListColumnOf<sequence>& column, int64_t id,
                                     int64_t /*of*/) {
    const auto known = static_cast<int64_t>(column.vocabulary_list.size());
    if (id >= known) return {fmt::format("other words, {}", id - known)};
    const auto& word = column.vocabulary_list[static_cast<size_t>(id)];
    const auto* const number = std::get_if<int64_t>(&word);
    return {number != nullptr ? std::to_string(*number) : std::get<std::string>(word)};
  }
  template <bool sequence>
  [[nodiscard]] Category Name(const nn::VocabularyFileColumnOf<sequence>& column, int64_t id,
                              int64_t /*of*/) const {
    auto [found, is_new] = files_.try_emplace(column.vocabulary_file);
    if (is_new) {
      found->second = nn::VocabularyLines(column.vocabulary_file, column.vocabulary_size);
    }
    const auto known = static_cast<int64_t>(found->second.size());
    if (id >= known) return {fmt::format("other words, {}", id - known)};
    return {found->second[static_cast<size_t>(id)]};
  }
  template <bool sequence>
  [[nodiscard]] Category Name(const nn::HashBucketColumnOf<sequence>& column, int64_t id,
                              int64_t /*of*/) const {
    auto [found, is_new] = hashed_.try_emplace({column.key, column.hash_bucket_size});
    if (is_new) {
      for (const std::string& word : WordsOf(rows_, column.key)) {
        const uint64_t size = static_cast<uint64_t>(column.hash_bucket_size);
        found->second[static_cast<int64_t>(Fingerprint64(word) % size)].push_back(word);
      }
    }
    const auto words = found->second.find(id);
    if (words == found->second.end()) return {fmt::format("bucket {}", id), false};
    constexpr size_t kMostWords = 3;
    std::vector<std::string> shown = words->second;
    const bool more = shown.size() > kMostWords;
    if (more) shown.resize(kMostWords);
    return {Join(shown, " | ") + (more ? " | ..." : "")};
  }
  template <bool sequence>
  [[nodiscard]] static Category Name(const nn::IdentityColumnOf<sequence>& /*column*/, int64_t id,
                                     int64_t /*of*/) {
    return {std::to_string(id)};
  }
  [[nodiscard]] Category Name(const nn::WeightedCategoricalColumn& column, int64_t id,
                              int64_t of) const {
    return Of(column.categorical_column, id, of);
  }
  [[nodiscard]] static Category Name(const nn::CrossedColumn& /*column*/, int64_t id,
                                     int64_t /*of*/) {
    return {fmt::format("bucket {}", id), false};
  }
  // Dense columns of several numbers: an indicator's or an embedding's.
  template <class T>
  [[nodiscard]] Category Name(const T& column, int64_t id, int64_t of) const {
    if constexpr (std::is_same_v<T, nn::IndicatorColumn>) {
      return Of(column.categorical_column, id, of);
    }
    return {fmt::format("[{}]", id)};
  }

  const nn::FeatureColumns& columns_;
  const KeptRows& rows_;
  mutable std::map<std::string, std::vector<std::string>> files_;
  mutable std::map<std::pair<std::string, int64_t>, std::map<int64_t, std::vector<std::string>>>
      hashed_;
};

std::vector<double> RowOf(const Tensor& values, int64_t row, int64_t width) {
  std::vector<double> weights;
  for (int64_t i = 0; i < width; ++i) weights.push_back(values.AsDouble(row * width + i));
  return weights;
}

}  // namespace

std::vector<ColumnWeight> LinearWeights(const Job& job, const BundleReader& checkpoint,
                                        const KeptRows& rows) {
  const nn::ColumnSet set(job.feature_columns);
  const Namer namer(job.feature_columns, rows);
  std::vector<ColumnWeight> weights;
  for (const auto& [name, column] : job.feature_columns) {
    if (nn::MembersOf(column) != nullptr) continue;
    const std::string variable = fmt::format("{}{}/weights", kScope, nn::ScopeOf(set.NameOf(name)));
    if (!checkpoint.Has(variable)) continue;
    const Tensor values = checkpoint.Read(variable);
    const int64_t count = values.shape().dim(0);
    for (int64_t id = 0; id < count; ++id) {
      const Category category = namer.Of(name, id, count);
      weights.push_back({.column = name,
                         .category = category.name,
                         .weights = RowOf(values, id, values.shape().dim(1)),
                         .named = category.named});
    }
  }
  const std::string bias = std::string(kScope) + "bias_weights";
  if (checkpoint.Has(bias)) {
    const Tensor values = checkpoint.Read(bias);
    weights.push_back(
        {.column = "(bias)", .category = "", .weights = RowOf(values, 0, values.elements())});
  }
  return weights;
}

}  // namespace tpuest::cli
