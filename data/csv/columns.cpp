#include "data/csv/columns.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace tpuest::data {
namespace {

// Selects the columns. A wrong name is a fault of the job (kUsage) if the job gives the names, and
// a fault of the file (kData) if its header does.
class Selection {
 public:
  Selection(const CsvSource& options, std::vector<std::string> names, const std::string& key)
      : options_(options),
        key_(key),
        names_code_(options.column_names ? Code::kUsage : Code::kData) {
    columns_.names = std::move(names);
  }

  CsvColumns Make() {
    CheckNames();
    for (const size_t field : Fields()) {
      CsvColumn column;
      column.name = columns_.names[field];
      column.field = field;
      columns_.selected.push_back(std::move(column));
    }
    if (options_.column_defaults) SetDefaults(*options_.column_defaults);
    for (CsvColumn& column : columns_.selected) {
      const auto known = options_.defaults_by_name.find(column.name);
      if (known != options_.defaults_by_name.end()) SetDefault(known->second, key_, column);
    }
    if (options_.label_name) CheckLabel(*options_.label_name);
    return std::move(columns_);
  }

 private:
  void CheckNames() const {
    std::set<std::string> seen;
    for (const std::string& name : columns_.names) {
      if (seen.insert(name).second) continue;
      throw Error(names_code_,
                  fmt::format("two columns are named '{}'{}", name,
                              options_.column_names ? "" : " in the header"),
                  options_.column_names ? "" : "rename them with column_names")
          .Key(key_ + (options_.column_names ? ".column_names" : ".file_pattern"));
    }
  }

  // The selected fields, ascending.
  [[nodiscard]] std::vector<size_t> Fields() const {
    std::vector<size_t> fields;
    if (!options_.select_columns) {
      for (size_t i = 0; i < columns_.names.size(); ++i) fields.push_back(i);
      return fields;
    }
    for (size_t i = 0; i < options_.select_columns->size(); ++i) {
      fields.push_back(Field((*options_.select_columns)[i], SelectKey(i)));
    }
    // As in make_csv_dataset, columns are in the order of the file, in whatever order the options
    // name them.
    std::sort(fields.begin(), fields.end());
    const auto twice = std::adjacent_find(fields.begin(), fields.end());
    if (twice != fields.end()) {
      throw Error(Code::kUsage,
                  fmt::format("column '{}' is selected twice", columns_.names[*twice]))
          .Key(key_ + ".select_columns");
    }
    if (fields.empty()) {
      throw Error(Code::kUsage, "select_columns is empty", "null selects all columns")
          .Key(key_ + ".select_columns");
    }
    return fields;
  }
  [[nodiscard]] std::string SelectKey(size_t i) const {
    return fmt::format("{}.select_columns[{}]", key_, i);
  }

  [[nodiscard]] size_t Field(const std::variant<std::string, int64_t>& selected,
                             const std::string& key) const {
    const std::vector<std::string>& names = columns_.names;
    if (const auto* number = std::get_if<int64_t>(&selected)) {
      if (*number >= 0 && *number < static_cast<int64_t>(names.size())) {
        return static_cast<size_t>(*number);
      }
      throw Error(names_code_, fmt::format("column {} is selected; there are {}, numbered from 0",
                                           *number, names.size()))
          .Key(key);
    }
    const auto& name = std::get<std::string>(selected);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    throw Missing(name, names).Key(key);
  }

  [[nodiscard]] Error Missing(const std::string& name,
                              const std::vector<std::string>& names) const {
    const auto nearest = Nearest(name, names);
    // The header may be another file's than the job's own.
    const auto* const file = std::get_if<std::string>(&options_.file_pattern);
    const bool in_header = file != nullptr && !options_.column_names;
    return {names_code_,
            fmt::format("{}no column is named '{}'; there are {}", in_header ? *file + ": " : "",
                        name, Join(names, ", ")),
            nearest ? fmt::format("did you mean '{}'?", *nearest) : std::string()};
  }

  void CheckLabel(const std::string& label) const {
    std::vector<std::string> names;
    for (const CsvColumn& column : columns_.selected) names.push_back(column.name);
    if (std::find(names.begin(), names.end(), label) != names.end()) return;
    throw Missing(label, names).Key(key_ + ".label_name");
  }

  void SetDefaults(const std::vector<CsvColumnDefault>& defaults) {
    if (defaults.size() != columns_.selected.size()) {
      throw Error(names_code_,
                  fmt::format("column_defaults has {} entries for {} columns{}", defaults.size(),
                              columns_.selected.size(),
                              options_.select_columns ? " that are selected" : ""),
                  "give one per column, in the order of the file")
          .Key(key_ + ".column_defaults");
    }
    for (size_t i = 0; i < defaults.size(); ++i) {
      SetDefault(defaults[i], fmt::format("{}.column_defaults[{}]", key_, i), columns_.selected[i]);
    }
  }

  static void SetDefault(const CsvColumnDefault& given, const std::string& key, CsvColumn& column) {
    if (const auto* both = std::get_if<CsvDefault>(&given)) {
      column.dtype = *DTypeFromName(both->dtype);
      column.required = !both->default_value;
      if (both->default_value) SetValue(*both->default_value, key + ".default_value", column);
    } else if (const auto* text = std::get_if<std::string>(&given)) {
      // A string that names a dtype is that dtype; any other is the default of a string column.
      column.required = IsColumnType(*text);
      column.dtype = column.required ? *DTypeFromName(*text) : DType::kString;
      if (!column.required) column.default_text = *text;
    } else if (const auto* whole = std::get_if<int64_t>(&given)) {
      // As tf.constant does.
      column.dtype = *whole == static_cast<int32_t>(*whole) ? DType::kInt32 : DType::kInt64;
      SetValue(*whole, key, column);
    } else {
      column.dtype = DType::kFloat;
      SetValue(std::get<double>(given), key, column);
    }
  }

  static bool IsColumnType(const std::string& text) {
    const auto dtype = DTypeFromName(text);
    return dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kFloat ||
           dtype == DType::kDouble || dtype == DType::kString;
  }

  // Stores the default in the column's known type.
  static void SetValue(const std::variant<std::string, int64_t, double>& value,
                       const std::string& key, CsvColumn& column) {
    const auto* const text = std::get_if<std::string>(&value);
    if (column.dtype == DType::kString) {
      if (text == nullptr) throw Error(Code::kUsage, "expected a text", "quote it").Key(key);
      column.default_text = *text;
      return;
    }
    const auto* const whole = std::get_if<int64_t>(&value);
    const auto* const real = std::get_if<double>(&value);
    // Parses a number's text, so that a default is accepted or refused as a field is.
    const std::string word = whole  ? fmt::format("{}", *whole)
                             : real ? NumberText(*real)
                                    : fmt::format("'{}'", *text);
    if (text != nullptr || !ParseCsvNumber(word, column.dtype, column.default_bits)) {
      throw Error(Code::kUsage,
                  fmt::format("expected {}, found {}", ExpectedCsvNumber(column.dtype), word))
          .Key(key);
    }
  }

  const CsvSource& options_;
  const std::string& key_;
  Code names_code_;  // for faults in names: kData if the header gave them
  CsvColumns columns_;
};

}  // namespace

std::vector<TensorSpec> CsvColumns::Specs(const std::string& key) const {
  std::vector<TensorSpec> specs;
  for (const CsvColumn& column : selected)
    specs.push_back({column.name, column.dtype, Shape(), key});
  return specs;
}

CsvColumns SelectCsvColumns(const CsvSource& options, std::vector<std::string> names,
                            const std::string& key) {
  return Selection(options, std::move(names), key).Make();
}

void FinishInference(CsvColumns& columns) {
  for (CsvColumn& column : columns.selected) {
    if (column.dtype == DType::kInvalid) column.dtype = DType::kString;
    column.inferred = true;
  }
}

}  // namespace tpuest::data
