#pragma once
// Makes the decisions of `tpuest init` about a table: the label, the use of each column, the model,
// and the length of training. starter_job.h writes them as a job.

#include <cstdint>
#include <string>
#include <vector>

#include "data/csv/profile.h"

namespace tpuest::cli {

enum class StarterModel { kLinear, kDnn, kCombined, kBaseline };

// The source of the rows to evaluate on: another file, the fifth of the rows that a hash of each
// row chooses, or the last fifth.
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
  std::string why;  // the reason in a few words

  std::string name;           // name of its feature column
  bool is_text = false;       // categories are strings, otherwise integers
  bool normalized = false;    // numbers are normalized, by z_score
  int64_t categories = 0;     // number of values (kVocabulary) or buckets (kHashBucket)
  std::string dense_name;     // name of the indicator or embedding beside it
  int64_t dimension = 0;      // width of the embedding; 0: an indicator
  std::string missing_value;  // text in column_defaults
};

struct StarterPlan {
  StarterModel model = StarterModel::kLinear;
  StarterLabel label;
  std::vector<StarterColumn> columns;  // all columns except the label, in the order of the file
  std::vector<std::string> warnings;
  int64_t rows = 0;        // approximate number of readable rows
  int64_t train_rows = 0;  // rows for training; the others are for evaluation
  StarterSplit split = StarterSplit::kHash;
  int64_t batch_size = 0;
  int64_t max_steps = 0;

  // The model's type in the job: "LinearClassifier".
  [[nodiscard]] std::string ModelType() const;
};

// The range of a column of numbers: "0.8 to 65.4".
[[nodiscard]] std::string RangeOf(const data::CsvColumnProfile& column);

// `profile` must outlive the plan, and already takes `split` into account. Error kUsage for a label
// that is not a column, kData for a table that nothing can be learned from.
[[nodiscard]] StarterPlan PlanStarter(const data::CsvProfile& profile, const std::string& label,
                                      StarterModel model, StarterSplit split);

}  // namespace tpuest::cli
