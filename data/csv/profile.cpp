#include "data/csv/profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "data/csv/columns.h"
#include "data/csv/file.h"
#include "data/csv/split.h"

namespace tpuest::data {
namespace {

// The words that tables of numbers use for a missing value.
constexpr std::array<std::string_view, 14> kNaWords = {
    "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "null", "NULL", "None", "none", "?", "-", "."};

double NumberOf(std::string_view text) {
  uint64_t bits = 0;
  if (!ParseCsvNumber(text, DType::kDouble, bits)) return 0;
  double number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

// Collects one column. Distinguishes texts by 64-bit fingerprints, which take 8 bytes each; two
// texts with the same fingerprint count as one.
class ColumnLook {
 public:
  explicit ColumnLook(std::string name) { profile_.name = std::move(name); }

  // `trains`: the row is a training row.
  void Add(std::string_view text, std::string_view na_value, int64_t row, bool trains) {
    if (text.empty() || text == na_value) {
      ++profile_.missing;
      return;
    }
    ++profile_.present;
    if (trains) ++profile_.trained;
    Note(text);
    profile_.dtype = InferCsvType(text, na_value, profile_.dtype);
    if (std::find(kNaWords.begin(), kNaWords.end(), text) != kNaWords.end()) {
      ++na_words_[std::string(text)];
    } else {
      but_for_na_words_ = InferCsvType(text, na_value, but_for_na_words_);
    }
    if (!profile_.is_number()) return;
    AddNumber(NumberOf(text), row);
    if (trains) AddMoments(NumberOf(text));
  }

  [[nodiscard]] CsvColumnProfile Finish() {
    profile_.distinct = static_cast<int64_t>(fingerprints_.size());
    if (fingerprints_.size() > kMostListedTexts) profile_.texts.clear();
    profile_.std =
        profile_.trained > 0 ? std::sqrt(squares_ / static_cast<double>(profile_.trained)) : 0;
    profile_.counts_rows =
        IsInteger(profile_.dtype) && (profile_.counts_rows || (rises_ && IsDenseFromZero()));
    return std::move(profile_);
  }

  // The words without which the column would contain only numbers, with their numbers of
  // occurrences.
  [[nodiscard]] std::map<std::string, int64_t> NaWords() const {
    const bool would_be_numbers =
        but_for_na_words_ != DType::kString && but_for_na_words_ != DType::kInvalid;
    return profile_.dtype == DType::kString && would_be_numbers ? na_words_
                                                                : std::map<std::string, int64_t>();
  }

 private:
  void Note(std::string_view text) {
    const size_t fingerprint = std::hash<std::string_view>()(text);
    if (fingerprint != before_ || profile_.present == 1) ++profile_.changes;
    before_ = fingerprint;
    const bool is_new = fingerprints_.insert(fingerprint).second;
    // Keeps texts only while the list is short enough to be shown.
    if (fingerprints_.size() > kMostListedTexts) return;
    if (is_new) {
      places_[fingerprint] = profile_.texts.size();
      profile_.texts.emplace_back(text, 1);
    } else {
      ++profile_.texts[places_[fingerprint]].second;
    }
  }

  // Updates range and order; `present` already counts this number.
  void AddNumber(double number, int64_t row) {
    if (!std::isfinite(number)) return;
    if (profile_.present == 1) {
      profile_.min = profile_.max = number;
      first_ = number - static_cast<double>(row);
    }
    rises_ = rises_ && (profile_.present == 1 || number > profile_.max);
    profile_.min = std::min(profile_.min, number);
    profile_.max = std::max(profile_.max, number);
    // A column that numbers the file's rows: number and row increase together. Rows are those of
    // the file, so this also holds for a sample.
    profile_.counts_rows = profile_.counts_rows && number - static_cast<double>(row) == first_;
  }

  // True if the numbers of an index column are dense enough from 0 on: the file still has at least
  // a quarter of the rows.
  [[nodiscard]] bool IsDenseFromZero() const {
    constexpr int64_t kEnoughRows = 50;
    return profile_.missing == 0 && profile_.present >= kEnoughRows && profile_.min >= 0 &&
           profile_.max < 4 * static_cast<double>(profile_.present);
  }

  // Welford's sums (1962): mean and sum of squared deviations in one pass, stable even if the mean
  // is much larger than the deviation. `trained` already counts this number.
  void AddMoments(double number) {
    if (!std::isfinite(number)) return;
    const double before = number - profile_.mean;
    profile_.mean += before / static_cast<double>(profile_.trained);
    squares_ += before * (number - profile_.mean);
  }

  CsvColumnProfile profile_;
  DType but_for_na_words_ = DType::kInvalid;
  std::map<std::string, int64_t> na_words_;
  std::unordered_set<size_t> fingerprints_;
  std::unordered_map<size_t, size_t> places_;  // index in profile_.texts
  size_t before_ = 0;
  double squares_ = 0;
  bool rises_ = true;  // each number is larger than the previous one
  double first_ = 0;
};

std::string TextOf(const CsvField& field) {
  std::string text;
  if (field.doubled) {
    AppendUnquoted(field.text, text);
  } else {
    text = field.text;
  }
  return text;
}

// Decides by the first bytes; for a pipe or an empty file by the name.
bool IsGzip(const std::string& path) {
  constexpr std::string_view kMagic = "\x1f\x8b";
  return DirectoryExists(path) || !FileExists(path) || FileSize(path) < 2
             ? EndsWith(path, ".gz")
             : MappedFile(path).bytes().starts_with(kMagic);
}

class Look {
 public:
  Look(const CsvSource& source, const KeptRows& kept)
      : path_(std::get<std::string>(source.file_pattern)), kept_(kept), profile_{.source = source} {
    if (IsGzip(path_)) profile_.source.compression_type = "GZIP";
  }

  CsvProfile Take() {
    auto file = std::make_unique<CsvFile>(path_, FileOptions());
    if (const char delimiter = DelimiterOf(First(*file)); delimiter != Dialect().delimiter) {
      profile_.source.field_delim = delimiter;
      file = std::make_unique<CsvFile>(path_, FileOptions());
    }
    names_ = Names(*file);
    std::vector<ColumnLook> looks = LookAt(*file);
    // The first pass inferred types with the word as text; the second pass counts it as missing.
    if (const auto word = NaWord(looks)) {
      profile_.source.na_value = *word;
      looks = LookAt(*file);
    }
    for (ColumnLook& look : looks) profile_.columns.push_back(look.Finish());
    return std::move(profile_);
  }

 private:
  [[nodiscard]] CsvDialect Dialect() const {
    return {.delimiter = profile_.source.field_delim.front()};
  }
  [[nodiscard]] CsvFile::Options FileOptions() const {
    return {.dialect = Dialect(),
            .header = profile_.source.header,
            .compression_type = profile_.source.compression_type};
  }

  // The first record, which may be a header.
  [[nodiscard]] static std::string First(const CsvFile& file) {
    CsvFile::Window window;
    if (file.header()) return *file.header();
    return file.records() > 0 ? std::string(file.Record(0, window)) : std::string();
  }

  // The delimiter that splits the record into the most fields; the first one if several do.
  [[nodiscard]] static char DelimiterOf(const std::string& record) {
    char best = ',';
    size_t most = 0;
    for (const char delimiter : {',', ';', '\t', '|'}) {
      std::vector<CsvField> fields;
      if (SplitCsvRecord(record, {.delimiter = delimiter}, fields)) continue;
      if (fields.size() <= most) continue;
      most = fields.size();
      best = delimiter;
    }
    return best;
  }

  [[nodiscard]] std::vector<std::string> Names(const CsvFile& file) const {
    if (profile_.source.column_names) return *profile_.source.column_names;
    std::vector<CsvField> fields;
    const std::string first = First(file);
    if (first.empty() && file.records() == 0) {
      throw Error(Code::kData, fmt::format("{}: the file is empty; expected a header", path_));
    }
    if (first.find('\0') != std::string::npos) {
      throw Error(Code::kData, "the file is not text: it has a zero byte")
          .At(file.PlaceInHeader(first.find('\0')));
    }
    if (const auto fault = SplitCsvRecord(first, Dialect(), fields)) {
      throw Error(Code::kData, fault->message, fault->hint).At(file.PlaceInHeader(fault->offset));
    }
    std::vector<std::string> names;
    // A first row of only numbers is a record: the file has no header.
    bool all_numbers = true;
    for (const CsvField& field : fields) {
      names.push_back(TextOf(field));
      all_numbers =
          all_numbers && InferCsvType(names.back(), "", DType::kInvalid) != DType::kString;
    }
    if (all_numbers) {
      throw Error(Code::kUsage,
                  fmt::format("{}: expected a header with the columns' names, found \"{}\"", path_,
                              first.substr(0, 40)),
                  "name them with --column-names A,B,..., or pass --no-header if the first row is "
                  "a record");
    }
    CheckUnique(names);
    return names;
  }

  void CheckUnique(std::vector<std::string> names) const {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    throw Error(Code::kData, fmt::format("{}: two columns are named '{}'", path_, *twice),
                "rename them with --column-names A,B,...");
  }

  [[nodiscard]] bool IsKept(int64_t row, std::string_view record) const {
    if (kept_.fraction <= 0) return false;
    if (!kept_.last) return IsOfEval(record, kept_.fraction);
    const double last = std::floor(kept_.fraction * static_cast<double>(profile_.rows));
    return row >= profile_.rows - static_cast<int64_t>(last);
  }

  [[nodiscard]] std::vector<ColumnLook> LookAt(const CsvFile& file) {
    std::vector<ColumnLook> looks;
    looks.reserve(names_.size());
    for (const std::string& name : names_) looks.emplace_back(name);
    profile_.rows = file.records();
    profile_.looked_at = std::min(profile_.rows, kMostProfiledRows);
    profile_.bad = profile_.kept = 0;
    profile_.first_bad.reset();
    CsvFile::Window window;
    std::vector<CsvField> fields;
    for (int64_t i = 0; i < profile_.looked_at; ++i) {
      // rows * i would overflow only beyond 2^46 rows.
      const int64_t row = profile_.rows * i / profile_.looked_at;
      const std::string_view record = file.Record(row, window);
      auto fault = SplitCsvRecord(record, Dialect(), fields);
      if (!fault && fields.size() != names_.size()) {
        fault = {fmt::format("expected {} fields, found {}", names_.size(), fields.size()), "", 0};
      }
      if (fault) {
        NoteBad(file, row, *fault);
        continue;
      }
      const bool is_kept = IsKept(row, record);
      if (is_kept) ++profile_.kept;
      for (size_t column = 0; column < looks.size(); ++column) {
        looks[column].Add(TextOf(fields[column]), profile_.source.na_value, row, !is_kept);
      }
    }
    return looks;
  }

  void NoteBad(const CsvFile& file, int64_t row, const CsvFault& fault) {
    if (profile_.bad++ > 0) return;
    const Place place = file.PlaceOf(row, fault.offset);
    profile_.first_bad = BadRecord{place.file, place.line, fault.message};
  }

  // The most common of the words that keep columns from being numeric; a source has only one
  // na_value.
  [[nodiscard]] static std::optional<std::string> NaWord(const std::vector<ColumnLook>& looks) {
    std::map<std::string, int64_t> words;
    for (const ColumnLook& look : looks) {
      for (const auto& [word, count] : look.NaWords()) words[word] += count;
    }
    const auto most =
        std::max_element(words.begin(), words.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == words.end() ? std::nullopt : std::optional(most->first);
  }

  std::string path_;
  KeptRows kept_;
  CsvProfile profile_;
  std::vector<std::string> names_;
};

}  // namespace

CsvProfile ProfileCsv(const CsvSource& source, const KeptRows& kept) {
  return Look(source, kept).Take();
}

}  // namespace tpuest::data
