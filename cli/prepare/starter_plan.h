#pragma once
// Makes the decisions of `tpuest init` about a table: what the label is, what becomes of each
// column, which model learns, and for how long. starter_job.h writes them down.

#include <cstdint>
#include <string>
#include <vector>

#include "data/csv/profile.h"

namespace tpuest::cli {

enum class StarterModel { kLinear, kDnn, kCombined, kBaseline };

// Where the rows to evaluate on come from: a file of their own, or the one fifth of all that a hash
// of each row chooses, or that stands last.
enum class StarterSplit { kOtherFile, kHash, kLast };
inline constexpr double kEvalFraction = 0.2;

struct StarterLabel {
  const data::CsvColumnProfile* column = nullptr;
  bool is_class = false;
  int64_t n_classes = 0;
  std::vector<std::string> vocabulary;  // classes that are not numbers 0 to n_classes - 1
  std::string dtype;                    // text in column_defaults
  bool far_scale = false;               // a regression's label is on a scale far from 1
};

enum class ColumnUse { kNumeric, kVocabulary, kHashBucket, kLeftOut };

struct StarterColumn {
  const data::CsvColumnProfile* column = nullptr;
  ColumnUse use = ColumnUse::kLeftOut;
  std::string why;  // the reason in a few words: what was seen

  std::string name;           // name of its feature column
  bool is_text = false;       // categories are strings, or else whole numbers
  bool normalized = false;    // numbers are normalized, by z_score
  int64_t categories = 0;     // number of values (kVocabulary) or buckets (kHashBucket)
  std::string dense_name;     // name of the indicator or embedding beside it
  int64_t dimension = 0;      // width of the embedding; 0: an indicator
  std::string missing_value;  // text in column_defaults
};

struct StarterPlan {
  StarterModel model = StarterModel::kLinear;
  StarterLabel label;
  std::vector<StarterColumn> columns;  // all but the label, in the order of the file
  std::vector<std::string> warnings;
  int64_t rows = 0;        // rows that can be read, about
  int64_t train_rows = 0;  // of them; the rest are for evaluation, if there are any
  StarterSplit split = StarterSplit::kHash;
  int64_t batch_size = 0;
  int64_t max_steps = 0;

  // The model's type in the job: "LinearClassifier".
  [[nodiscard]] std::string ModelType() const;
};

// The range of a column of numbers: "0.8 to 65.4".
[[nodiscard]] std::string RangeOf(const data::CsvColumnProfile& column);

// `profile` outlives the plan, and knows the rows that `split` keeps for evaluation. Error kUsage
// for a label that is no column, kData for a table that nothing can be learned from.
[[nodiscard]] StarterPlan PlanStarter(const data::CsvProfile& profile, const std::string& label,
                                      StarterModel model, StarterSplit split);

}  // namespace tpuest::cli
