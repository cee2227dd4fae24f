#include "data/csv/source.h"

#include <algorithm>

#include "core/base/text.h"
#include "data/csv/row_decoder.h"
#include "data/csv/split.h"

namespace tpuest::data {
namespace {

// The memory that a reader keeps between records. row.columns point into numbers and texts, which
// never move, because they are sized once.
struct CsvState final : Row::State {
  CsvFile::Window window;
  std::vector<CsvField> fields;
  std::vector<uint64_t> numbers;        // bits of each selected column's number
  std::vector<std::string_view> texts;  // of the selected columns
  std::string unquoted;                 // texts whose doubled quotes were replaced
};

// Converts records to the values of the selected columns. Immutable once the types are known; any
// thread.
class CsvParser {
 public:
  CsvParser(const CsvSource& options, const CsvDialect& dialect, CsvColumns columns)
      : dialect_(dialect), na_value_(options.na_value), columns_(std::move(columns)) {
    for (const CsvColumn& column : columns_.selected) {
      if (column.inferred) rows_of_types_ = options.num_rows_for_inference.value_or(-1);
    }
  }

  [[nodiscard]] const CsvColumns& columns() const { return columns_; }

  // Splits a record into fields and checks their number.
  [[nodiscard]] std::optional<CsvFault> Split(std::string_view record,
                                              std::vector<CsvField>& fields) const {
    if (auto fault = SplitCsvRecord(record, dialect_, fields)) return fault;
    if (fields.size() == columns_.names.size()) return std::nullopt;
    return CsvFault{fmt::format("expected {} fields, found {}{}", columns_.names.size(),
                                fields.size(), record.empty() ? ": the line is empty" : ""),
                    "", 0};
  }

  // Fills the state's numbers and texts, or returns the record's error.
  [[nodiscard]] std::optional<CsvFault> Parse(std::string_view record, CsvState& state) const {
    if (auto fault = Split(record, state.fields)) return fault;
    state.unquoted.clear();
    // Texts are views into this string, so it must not grow: all unquoted texts together are
    // shorter than the record.
    state.unquoted.reserve(record.size());
    for (size_t i = 0; i < columns_.selected.size(); ++i) {
      const CsvColumn& column = columns_.selected[i];
      const CsvField& field = state.fields[column.field];
      if (!Store(column, field, i, state)) return Fault(column, field, record);
    }
    return std::nullopt;
  }

  // Widens the types that are not known yet by one more record.
  [[nodiscard]] std::optional<CsvFault> Infer(std::string_view record,
                                              std::vector<CsvField>& fields) {
    if (auto fault = Split(record, fields)) return fault;
    std::string unquoted;
    for (CsvColumn& column : columns_.selected) {
      const CsvField& field = fields[column.field];
      unquoted.clear();
      if (field.doubled) AppendUnquoted(field.text, unquoted);
      column.dtype = InferCsvType(field.doubled ? unquoted : field.text, na_value_, column.dtype);
    }
    return std::nullopt;
  }

 private:
  // Returns false for a field that the column does not accept.
  [[nodiscard]] bool Store(const CsvColumn& column, const CsvField& field, size_t i,
                           CsvState& state) const {
    std::string_view text = field.text;
    if (field.doubled) {
      const size_t begin = state.unquoted.size();
      AppendUnquoted(field.text, state.unquoted);
      text = std::string_view(state.unquoted).substr(begin);
    }
    if (text.empty() || text == na_value_) {
      state.numbers[i] = column.default_bits;
      state.texts[i] = column.default_text;
      return !column.required;
    }
    if (column.dtype == DType::kString) {
      state.texts[i] = text;
      return true;
    }
    return ParseCsvNumber(text, column.dtype, state.numbers[i]);
  }

  [[nodiscard]] CsvFault Fault(const CsvColumn& column, const CsvField& field,
                               std::string_view record) const {
    constexpr size_t kShown = 40;
    const auto offset = static_cast<size_t>(field.text.data() - record.data());
    if (field.text.empty() || field.text == na_value_) {
      return {fmt::format("column \"{}\" must have a value", column.name),
              "give it a default in column_defaults to make it optional", offset};
    }
    const bool long_text = field.text.size() > kShown;
    return {fmt::format("column \"{}\": expected {}, found \"{}{}\"", column.name,
                        ExpectedCsvNumber(column.dtype), field.text.substr(0, kShown),
                        long_text ? "..." : ""),
            Hint(column, field.text), offset};
  }
  [[nodiscard]] std::string Hint(const CsvColumn& column, std::string_view text) const {
    const size_t first = text.find_first_not_of(" \t");
    const bool has_plus = first != std::string_view::npos && text[first] == '+';
    if (has_plus && IsInteger(column.dtype)) {
      return "decode_csv rejects '+' before a whole number; use column_defaults: float32";
    }
    return column.inferred ? TypeHint() : std::string();
  }
  [[nodiscard]] std::string TypeHint() const {
    const std::string rows =
        rows_of_types_ < 0 ? "all rows" : fmt::format("the first {} rows", rows_of_types_);
    return fmt::format(
        "the type was inferred from {}; set column_defaults or raise num_rows_for_inference", rows);
  }

  CsvDialect dialect_;
  std::string na_value_;
  CsvColumns columns_;
  int64_t rows_of_types_ = -1;  // records from which types were inferred; -1: all
};

// The row's state; points the row's columns into it.
CsvState& CsvStateOf(Row& row, const std::vector<CsvColumn>& selected) {
  if (!row.state) row.state = std::make_unique<CsvState>();
  auto& state = static_cast<CsvState&>(*row.state);
  state.numbers.resize(selected.size());
  state.texts.resize(selected.size());
  row.columns.resize(selected.size());
  for (size_t i = 0; i < selected.size(); ++i) {
    const void* const number = &state.numbers[i];
    const void* const text = &state.texts[i];
    row.columns[i] = {selected[i].dtype == DType::kString ? text : number, 1};
  }
  return state;
}

class RowReader final : public CsvRowReader {
 public:
  RowReader(CsvParser parser, const std::string& key)
      : CsvRowReader(parser.columns().Specs(key)), parser_(std::move(parser)) {}
  [[nodiscard]] std::optional<CsvFault> Read(std::string_view record, Row& row) const override {
    return parser_.Parse(record, CsvStateOf(row, parser_.columns().selected));
  }

 private:
  CsvParser parser_;
};

class CsvRecords final : public IndexedSource {
 public:
  CsvRecords(std::vector<std::unique_ptr<CsvFile>> files, std::vector<std::string> paths,
             CsvParser parser, const std::string& key)
      : IndexedSource(parser.columns().Specs(key), std::move(paths)),
        files_(std::move(files)),
        parser_(std::move(parser)) {
    for (const auto& file : files_) starts_.push_back(starts_.back() + file->records());
  }

  // Reads every record and leaves out the bad ones from now on. good_before_ has the number of good
  // records before each bad one, from which Read computes how many to skip.
  void Screen(const DataErrors& errors) {
    Row row;
    CsvState& state = StateOf(row);
    std::vector<BadRecord> found;
    for (size_t file = 0; file < files_.size(); ++file) {
      CsvFile::Cursor cursor;
      for (int64_t i = 0; i < files_[file]->records(); ++i) {
        const auto fault = parser_.Parse(files_[file]->Record(i, state.window), state);
        if (!fault) continue;
        const Place place = files_[file]->PlaceOf(i, fault->offset, cursor);
        found.push_back({place.file, place.line, fault->message});
        good_before_.push_back(starts_[file] + i - static_cast<int64_t>(good_before_.size()));
        // Checks at each fault, so that a file of the wrong kind does not fill the memory with
        // faults.
        CheckFraction(found, errors.options.max_fraction);
      }
    }
    if (errors.report && !found.empty()) errors.report(found, starts_.back());
  }

  // Keeps only one part of the good records. Reads every record.
  void Keep(const HashSplit& split, const std::string& key) {
    CsvFile::Window window;
    RecordSubset kept;
    size_t bad = 0;
    for (size_t file = 0; file < files_.size(); ++file) {
      for (int64_t i = 0; i < files_[file]->records(); ++i) {
        const bool is_bad = bad < good_before_.size() &&
                            good_before_[bad] + static_cast<int64_t>(bad) == starts_[file] + i;
        if (is_bad) ++bad;
        const bool is_of_eval = IsOfEval(files_[file]->Record(i, window), split.eval_fraction);
        kept.Append(!is_bad && is_of_eval == (split.part == "eval"));
      }
    }
    if (kept.size() == 0) {
      throw Error(Code::kData,
                  fmt::format("none of {} records belongs to the part {}", size(), split.part),
                  "change eval_fraction, or split with skip and take")
          .Key(key + ".split");
    }
    kept_ = std::move(kept);
  }

  [[nodiscard]] int64_t size() const override {
    if (kept_) return kept_->size();
    return starts_.back() - static_cast<int64_t>(good_before_.size());
  }

  [[nodiscard]] Provenance From(int64_t index) const override {
    index = RecordOf(index);
    // Finds the last file that begins at or before the record, because an empty file begins where
    // the next one does.
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto file = static_cast<size_t>(after - starts_.begin()) - 1;
    return {static_cast<int32_t>(file), index - starts_[file]};
  }

  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    const auto file = static_cast<size_t>(row.from.file);
    const int64_t record = row.from.record;
    CsvState& state = StateOf(row);
    const auto fault =
        parser_.Parse(files_[file]->Record(record, state.window, row.records_after), state);
    if (!fault) return;
    throw Error(Code::kData, fault->message, fault->hint)
        .At(files_[file]->PlaceOf(record, fault->offset));
  }

 private:
  // The record of all files that record `index` of this source stands for.
  [[nodiscard]] int64_t RecordOf(int64_t index) const {
    if (kept_) return (*kept_)[index];
    // The bad records before good record `index` are those with at most `index` good records before
    // them.
    return index + (std::upper_bound(good_before_.begin(), good_before_.end(), index) -
                    good_before_.begin());
  }

  void CheckFraction(const std::vector<BadRecord>& found, double most) const {
    const auto all = static_cast<double>(starts_.back());
    if (static_cast<double>(found.size()) <= most * all) return;
    const BadRecord& first = found.front();
    throw Error(Code::kData,
                fmt::format("{} or more of {} records are bad; the first is {}:{}: {}",
                            found.size(), starts_.back(), first.file, first.line, first.why))
        .Key("tpuest.data_errors.max_fraction");
  }

  [[nodiscard]] CsvState& StateOf(Row& row) const {
    return CsvStateOf(row, parser_.columns().selected);
  }

  std::vector<std::unique_ptr<CsvFile>> files_;
  CsvParser parser_;
  std::vector<int64_t> starts_ = {0};  // index of each file's first record, then the end
  std::vector<int64_t> good_before_;   // good records before each bad record; ascending
  std::optional<RecordSubset> kept_;   // nullopt: all good records
};

std::vector<std::string> FilesOf(const CsvSource& options, const std::string& key) {
  std::vector<std::string> names = ListOf(options.file_pattern);
  // The standard input must be the only input; it is not searched for as a file.
  if (names == std::vector<std::string>{"-"}) return names;
  return FindFiles(names, key + ".file_pattern");
}

std::vector<std::string> TextsOf(const std::vector<CsvField>& fields) {
  std::vector<std::string> texts;
  for (const CsvField& field : fields) {
    texts.emplace_back();
    if (field.doubled) {
      AppendUnquoted(field.text, texts.back());
    } else {
      texts.back() = field.text;
    }
  }
  return texts;
}

std::vector<std::string> HeaderNames(const CsvFile& file, const CsvDialect& dialect) {
  if (!file.header()) {
    throw Error(Code::kData, fmt::format("{}: the file is empty; expected a header", file.path()));
  }
  std::vector<CsvField> fields;
  if (const auto fault = SplitCsvRecord(*file.header(), dialect, fields)) {
    throw Error(Code::kData, fault->message, fault->hint).At(file.PlaceInHeader(fault->offset));
  }
  return TextsOf(fields);
}

// The names that all headers share. Throws Error kData at the first header that differs.
std::vector<std::string> NamesOf(const std::vector<std::unique_ptr<CsvFile>>& files,
                                 const CsvDialect& dialect) {
  std::vector<std::string> names = HeaderNames(*files.front(), dialect);
  for (const auto& file : files) {
    const std::vector<std::string> other = HeaderNames(*file, dialect);
    if (other == names) continue;
    throw Error(Code::kData,
                fmt::format("the header has the columns {}, but {} has {}", Join(other, ", "),
                            files.front()->path(), Join(names, ", ")))
        .At(file->PlaceInHeader(0));
  }
  return names;
}

// The names in column_names; leaves out the columns that the file may lack if the first record then
// has the right number of fields. Rows to predict may lack labels.
std::vector<std::string> NamesIn(std::string_view first, const CsvSource& options,
                                 const CsvDialect& dialect) {
  std::vector<std::string> names = *options.column_names;
  if (options.may_lack.empty()) return names;
  std::vector<CsvField> fields;
  if (SplitCsvRecord(first, dialect, fields)) return names;
  std::vector<std::string> fewer = names;
  std::erase_if(fewer, [&](const std::string& name) {
    return std::find(options.may_lack.begin(), options.may_lack.end(), name) !=
           options.may_lack.end();
  });
  return fields.size() == fewer.size() ? fewer : names;
}

std::vector<std::string> NamesIn(const CsvFile& file, const CsvSource& options,
                                 const CsvDialect& dialect) {
  CsvFile::Window window;
  std::string_view first;
  if (file.header()) {
    first = *file.header();
  } else if (file.records() > 0) {
    first = file.Record(0, window);
  }
  return NamesIn(first, options, dialect);
}

void CheckOptions(const CsvSource& options, const std::string& key) {
  (void)CsvDialectOf(options, key);
  CheckRange(options, key);
  if (!options.header && !options.column_names) {
    throw Error(Code::kUsage, "without a header the columns have no names", "column_names: [...]")
        .Key(key + ".header");
  }
  if (options.split && !(options.split->eval_fraction > 0 && options.split->eval_fraction < 1)) {
    throw Error(Code::kUsage, fmt::format("eval_fraction is {}; expected a number between 0 and 1",
                                          options.split->eval_fraction))
        .Key(key + ".split.eval_fraction");
  }
  if (options.num_rows_for_inference.value_or(1) < 1) {
    throw Error(Code::kUsage, fmt::format("num_rows_for_inference is {}; expected 1 or more, or "
                                          "null for all",
                                          *options.num_rows_for_inference))
        .Key(key + ".num_rows_for_inference");
  }
}

// Infers types from the first num_rows_for_inference records, across files; a bad record counts as
// one of them.
CsvColumns InferredColumns(const CsvSource& options, const CsvDialect& dialect, CsvColumns columns,
                           const std::vector<std::unique_ptr<CsvFile>>& files, bool skip) {
  CsvParser parser(options, dialect, std::move(columns));
  CsvFile::Window window;
  std::vector<CsvField> fields;
  int64_t rows = 0;
  for (const auto& file : files) {
    for (int64_t i = 0; i < file->records(); ++i) {
      if (rows++ >= options.num_rows_for_inference.value_or(rows)) break;
      if (const auto fault = parser.Infer(file->Record(i, window), fields)) {
        if (skip) continue;
        throw Error(Code::kData, fault->message, fault->hint).At(file->PlaceOf(i, fault->offset));
      }
    }
  }
  columns = parser.columns();
  FinishInference(columns);
  return columns;
}

}  // namespace

CsvDialect CsvDialectOf(const CsvSource& options, const std::string& key) {
  if (options.field_delim.size() != 1 ||
      options.field_delim.find_first_of("\n\r\"") != std::string::npos) {
    throw Error(Code::kUsage,
                fmt::format("field_delim is '{}'; expected one character, neither a quote nor a "
                            "line end",
                            options.field_delim))
        .Key(key + ".field_delim");
  }
  return {.delimiter = options.field_delim.front(), .quotes = options.use_quote_delim};
}

std::shared_ptr<const CsvRowReader> MakeCsvRowReader(const CsvSource& options,
                                                     const std::string& key,
                                                     std::string_view first) {
  CheckOptions(options, key);
  const CsvDialect dialect = CsvDialectOf(options, key);
  std::vector<std::string> names;
  if (options.column_names) {
    names = NamesIn(first, options, dialect);
  } else {
    std::vector<CsvField> fields;
    if (const auto fault = SplitCsvRecord(first, dialect, fields)) {
      throw Error(Code::kData, fault->message, fault->hint)
          .At({"-", 1, static_cast<int>(fault->offset) + 1});
    }
    names = TextsOf(fields);
  }
  CsvColumns columns = SelectCsvColumns(options, std::move(names), key);
  for (const CsvColumn& column : columns.selected) {
    Check(column.dtype != DType::kInvalid, "the type of \"{}\" is stated", column.name);
  }
  return std::make_shared<RowReader>(CsvParser(options, dialect, std::move(columns)), key);
}

std::shared_ptr<IndexedSource> OpenCsv(const CsvSource& options, const std::string& key,
                                       const DataErrors& errors) {
  CheckOptions(options, key);
  const CsvDialect dialect = CsvDialectOf(options, key);
  std::vector<std::string> paths = FilesOf(options, key);
  std::vector<std::unique_ptr<CsvFile>> files;
  for (const std::string& path : paths) {
    files.push_back(std::make_unique<CsvFile>(
        path, CsvFile::Options{.dialect = dialect,
                               .header = options.header,
                               .compression_type = options.compression_type}));
  }
  CsvColumns columns = SelectCsvColumns(
      options,
      options.column_names ? NamesIn(*files.front(), options, dialect) : NamesOf(files, dialect),
      key);
  const bool known =
      std::all_of(columns.selected.begin(), columns.selected.end(),
                  [](const CsvColumn& column) { return column.dtype != DType::kInvalid; });
  if (!known) {
    columns = InferredColumns(options, dialect, std::move(columns), files, errors.options.skip());
  }
  CsvParser parser(options, dialect, std::move(columns));
  auto records =
      std::make_shared<CsvRecords>(std::move(files), std::move(paths), std::move(parser), key);
  // Finds bad records once, so that the size and order of an epoch are known before its first
  // batch.
  if (errors.options.skip()) records->Screen(errors);
  if (options.split) records->Keep(*options.split, key);
  return records;
}

std::optional<std::vector<TensorSpec>> KnownCsvColumns(const CsvSource& options,
                                                       const std::string& key) {
  CheckOptions(options, key);
  if (!options.column_names) return std::nullopt;
  const CsvColumns columns = SelectCsvColumns(options, *options.column_names, key);
  if (!options.column_defaults) return std::nullopt;
  return columns.Specs(key);
}

}  // namespace tpuest::data
