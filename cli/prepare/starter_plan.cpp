#include "cli/prepare/starter_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/nn/columns/column_set.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kFewestRows = 10;
constexpr int64_t kMostWords = 50;  // maximum number of words in a vocabulary
constexpr int64_t kMostWholeNumbers =
    10;  // up to this many different integers are categories, not numbers
constexpr int64_t kMostIndicated = 10;  // maximum categories of an indicator; more are embedded
constexpr int64_t kMostCounted = 20;    // maximum number of classes 0, 1, 2, ...
constexpr int64_t kMostNumbered = 10;   // maximum number of classes that are other integers
constexpr int64_t kMostNamed = 100;     // maximum number of classes that are words
constexpr int64_t kRowsAClass = 5;
// A file with a larger share of bad records is probably not such a CSV file.
constexpr double kMostBad = 0.05;

std::string Plural(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", WithCommas(count), what, count == 1 ? "" : "s");
}

// Returns true if the scale of these numbers is too far from numbers around 0 of size 1 to train
// well.
bool IsFarScale(const data::CsvColumnProfile& column) {
  return column.std > 4 || (column.std > 0 && column.std < 0.25) || std::abs(column.mean) > 4;
}

bool IsUtf8(const data::CsvColumnProfile& column) {
  return std::all_of(column.texts.begin(), column.texts.end(), [](const auto& entry) {
    return FindInvalidUtf8(entry.first) == std::string::npos;
  });
}

// Returns true for "name", "user_id", "PassengerId": even a number identifies rows in such a
// column.
bool IsIdName(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "id" || EndsWith(lower, "_id") || EndsWith(lower, " id") || EndsWith(name, "Id");
}

// ---- the label ----------------------------------------------------------------------------------

// Returns the texts of the classes in an order that does not depend on the order of rows.
std::vector<std::string> SortedTexts(const data::CsvColumnProfile& column) {
  std::vector<std::string> texts;
  for (const auto& [text, count] : column.texts) texts.push_back(text);
  std::sort(texts.begin(), texts.end());
  if (column.is_number()) {
    std::stable_sort(texts.begin(), texts.end(), [](const std::string& a, const std::string& b) {
      return std::stod(a) < std::stod(b);
    });
  }
  return texts;
}

// Returns true if the column has all of 0, 1, ..., max.
bool CountsFromZero(const data::CsvColumnProfile& column) {
  return IsInteger(column.dtype) && column.min == 0 &&
         column.max + 1 == static_cast<double>(column.distinct);
}

bool IsClassLabel(const data::CsvColumnProfile& column) {
  const bool enough_rows = column.present >= kRowsAClass * column.distinct;
  if (column.dtype == DType::kString) return true;
  if (!IsInteger(column.dtype)) return column.distinct == 2;
  if (column.distinct == 2) return true;
  return enough_rows && column.distinct <= (CountsFromZero(column) ? kMostCounted : kMostNumbered);
}

void CheckLabel(const data::CsvColumnProfile& column) {
  if (column.present == 0) {
    throw Error(Code::kData, fmt::format("the label '{}' is empty in every row", column.name));
  }
  if (column.distinct < 2) {
    throw Error(Code::kData,
                fmt::format("the label '{}' is {} in every row, so nothing can be learned",
                            column.name, column.texts.front().first));
  }
  if (column.dtype != DType::kString) return;
  if (column.distinct <= kMostNamed && column.present >= 2 * column.distinct && IsUtf8(column)) {
    return;
  }
  throw Error(Code::kData,
              fmt::format("the label '{}' has {} different texts in {}; expected numbers, or at "
                          "most {} classes in UTF-8 with several rows each",
                          column.name, WithCommas(column.distinct), Plural(column.present, "row"),
                          kMostNamed));
}

StarterLabel PlanLabel(const data::CsvColumnProfile& column) {
  CheckLabel(column);
  StarterLabel label{.column = &column, .is_class = IsClassLabel(column)};
  if (!label.is_class) {
    label.dtype = "float32";
    label.far_scale = IsFarScale(column);
    return label;
  }
  label.n_classes = column.distinct;
  label.dtype = CountsFromZero(column) ? "int32" : "string";
  if (label.dtype == "string") label.vocabulary = SortedTexts(column);
  return label;
}

// ---- the other columns --------------------------------------------------------------------------

void LeaveOut(StarterColumn& to, std::string why) {
  to.use = ColumnUse::kLeftOut;
  to.why = std::move(why);
}

void UseNumbers(StarterColumn& to) {
  const data::CsvColumnProfile& column = *to.column;
  to.use = ColumnUse::kNumeric;
  to.normalized = IsFarScale(column);
  to.why = RangeOf(column);
  if (column.missing > 0) to.why += fmt::format("; {} empty: the mean", WithCommas(column.missing));
}

// Returns the first power of two that is at least twice the number of values, so that few share a
// bucket.
int64_t BucketsFor(int64_t values) {
  int64_t buckets = 16;
  while (buckets < 2 * values) buckets *= 2;
  return buckets;
}

void UseCategories(StarterColumn& to) {
  const data::CsvColumnProfile& column = *to.column;
  to.is_text = column.dtype == DType::kString;
  const bool listed = column.distinct <= kMostWords && IsUtf8(column);
  to.use = listed ? ColumnUse::kVocabulary : ColumnUse::kHashBucket;
  to.categories = listed ? column.distinct : BucketsFor(column.distinct);
  to.why = Plural(column.distinct, to.is_text ? "different text" : "different number");
  if (column.missing > 0) {
    to.why += fmt::format("; {} empty: no category", WithCommas(column.missing));
  }
  if (!to.is_text && column.min <= -1 && column.max >= -1) to.why += "; -1 is no category";
  to.missing_value = to.is_text                      ? "\"\""
                     : column.dtype == DType::kInt64 ? "{dtype: int64, default_value: -1}"
                                                     : "-1";
  const auto values = static_cast<double>(column.distinct);
  if (column.distinct > kMostIndicated) {
    to.dimension = std::max<int64_t>(2, std::llround(std::pow(values, 0.25)));
  }
}

// Returns true if the column identifies rows instead of describing them.
bool IsNearlyUnique(const data::CsvColumnProfile& column) {
  if (column.distinct == column.present) return true;
  return column.distinct > kMostWords &&
         static_cast<double>(column.distinct) > 0.9 * static_cast<double>(column.present);
}

void PlanColumn(StarterColumn& to) {
  const data::CsvColumnProfile& column = *to.column;
  // Different texts may be the same number.
  const bool is_one = column.is_number() ? column.min == column.max : column.distinct == 1;
  const bool is_constant = is_one && (column.missing == 0 || IsFloating(column.dtype));
  if (column.present == 0) return LeaveOut(to, "empty in every row");
  if (FindInvalidUtf8(column.name) != std::string::npos) {
    return LeaveOut(to, "its name is not UTF-8");
  }
  if (column.name.empty()) return LeaveOut(to, "it has no name");
  if (is_constant) return LeaveOut(to, "the same in every row");
  if (column.dtype == DType::kString) {
    if (IsNearlyUnique(column)) {
      return LeaveOut(
          to, fmt::format("{} in {}: it identifies rows", Plural(column.distinct, "different text"),
                          Plural(column.present, "row")));
    }
    return UseCategories(to);
  }
  if (!IsInteger(column.dtype)) return UseNumbers(to);
  if (column.counts_rows && column.distinct > 2) return LeaveOut(to, "it is a row number");
  if (IsIdName(column.name) && column.distinct > kMostWholeNumbers) {
    if (IsNearlyUnique(column)) return LeaveOut(to, "it identifies rows");
    return UseCategories(to);
  }
  if (column.distinct <= kMostWholeNumbers) return UseCategories(to);
  UseNumbers(to);
}

// Keeps letters, digits, "_" and non-ASCII characters of a name.
std::string WordOf(const std::string& name) {
  std::string word;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
    if (plain) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (EndsWith(word, "_")) word.pop_back();
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    word = "column_" + word;
  }
  return word;
}

void GiveNames(std::vector<StarterColumn>& columns) {
  std::set<std::string> taken;
  const auto free = [&](const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  };
  for (StarterColumn& column : columns) {
    if (column.use != ColumnUse::kLeftOut) column.name = free(WordOf(column.column->name));
  }
  for (StarterColumn& column : columns) {
    if (column.use != ColumnUse::kVocabulary && column.use != ColumnUse::kHashBucket) continue;
    column.dense_name = free(column.name + (column.dimension > 0 ? "_embedding" : "_indicator"));
  }
}

// Variables are named after columns, and TensorFlow allows fewer characters in names of variables.
void LeaveOutClashes(std::vector<StarterColumn>& columns) {
  std::map<std::string, std::string> owners;
  for (StarterColumn& column : columns) {
    if (column.use == ColumnUse::kLeftOut) continue;
    const auto [owner, is_new] =
        owners.emplace(nn::ScopeOf(column.column->name), column.column->name);
    if (is_new) continue;
    LeaveOut(
        column,
        fmt::format(
            "its variables and those of \"{}\" would have the same name; --column-names renames it",
            owner->second));
  }
}

// ---- the whole ----------------------------------------------------------------------------------

const data::CsvColumnProfile& Find(const data::CsvProfile& profile, const std::string& label) {
  std::vector<std::string> names;
  for (const data::CsvColumnProfile& column : profile.columns) {
    if (column.name == label) return column;
    names.push_back(column.name.empty() ? "''" : column.name);
  }
  const auto nearest = Nearest(label, names);
  throw Error(Code::kUsage,
              fmt::format("no column is named '{}'; the columns are {}", label, Join(names, ", ")),
              nearest ? fmt::format("did you mean '--label {}'?", *nearest) : std::string());
}

void CheckRows(const data::CsvProfile& profile) {
  const int64_t good = profile.looked_at - profile.bad;
  const std::string& path = std::get<std::string>(profile.source.file_pattern);
  if (static_cast<double>(profile.bad) > kMostBad * static_cast<double>(profile.looked_at)) {
    throw Error(Code::kData, fmt::format("{} of {} records cannot be read; the first: {}",
                                         profile.bad, profile.looked_at, profile.first_bad->why))
        .At({path, profile.first_bad->line, 1});
  }
  if (good < kFewestRows) {
    throw Error(Code::kData, fmt::format("{}: {}; expected at least {} to learn from", path,
                                         Plural(good, "row"), kFewestRows));
  }
}

// Returns true if the rows are grouped by class, so that the last rows would be of one class.
bool LooksSorted(const StarterLabel& label) {
  return label.is_class && label.column->changes < 2 * label.n_classes &&
         label.column->present >= 5 * label.n_classes;
}

void PlanRun(StarterPlan& plan) {
  const int64_t rows = plan.train_rows;
  plan.batch_size = rows < 10000 ? 32 : rows < 100000 ? 128 : 512;
  constexpr int64_t kEpochs = 20;
  const int64_t steps = kEpochs * rows / plan.batch_size;
  plan.max_steps = std::clamp<int64_t>((steps + 99) / 100 * 100, 500, 20000);
}

}  // namespace

std::string RangeOf(const data::CsvColumnProfile& column) {
  const auto text = [](double value) {
    const bool is_large = std::abs(value) >= 1e5 && std::abs(value) < 1e15;
    return is_large ? fmt::format("{:.0f}", value) : fmt::format("{:.5g}", value);
  };
  return fmt::format("{} to {}", text(column.min), text(column.max));
}

std::string StarterPlan::ModelType() const {
  const std::string kind = label.is_class ? "Classifier" : "Regressor";
  switch (model) {
    case StarterModel::kLinear:
      return "Linear" + kind;
    case StarterModel::kDnn:
      return "DNN" + kind;
    case StarterModel::kCombined:
      return "DNNLinearCombined" + kind;
    case StarterModel::kBaseline:
      break;
  }
  return "Baseline" + kind;
}

StarterPlan PlanStarter(const data::CsvProfile& profile, const std::string& label,
                        StarterModel model, StarterSplit split) {
  const data::CsvColumnProfile& label_column = Find(profile, label);
  CheckRows(profile);
  StarterPlan plan{.model = model, .label = PlanLabel(label_column), .split = split};
  for (const data::CsvColumnProfile& column : profile.columns) {
    if (&column == &label_column) continue;
    plan.columns.push_back({.column = &column});
    PlanColumn(plan.columns.back());
  }
  LeaveOutClashes(plan.columns);
  if (std::all_of(plan.columns.begin(), plan.columns.end(),
                  [](const StarterColumn& column) { return column.use == ColumnUse::kLeftOut; })) {
    std::vector<std::string> reasons;
    for (const StarterColumn& column : plan.columns) {
      if (reasons.size() < 3)
        reasons.push_back(fmt::format("'{}': {}", column.column->name, column.why));
    }
    throw Error(Code::kData, "no usable column is left", Join(reasons, "; "));
  }
  GiveNames(plan.columns);
  // Only a sample of a large file's rows was read.
  const double scale = static_cast<double>(profile.rows) / static_cast<double>(profile.looked_at);
  plan.rows = std::llround(scale * static_cast<double>(label_column.present));
  plan.train_rows = std::llround(scale * static_cast<double>(label_column.trained));
  PlanRun(plan);
  if (split == StarterSplit::kLast && LooksSorted(plan.label)) {
    plan.warnings.push_back(
        "the rows are sorted by the label, so the last rows are not representative: --split hash "
        "takes rows from the whole file");
  }
  return plan;
}

}  // namespace tpuest::cli
