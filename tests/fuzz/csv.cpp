// CSV files: records and fields in memory, all rows of a source, and the profile from which a
// starter job is written. The first byte selects dialect and reader.

#include "data/csv/profile.h"
#include "data/csv/record.h"
#include "data/csv/source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

// For any bytes, every record is at least one byte long, and all records together are the whole
// text.
void Split(std::string_view text, const data::CsvDialect& dialect) {
  std::vector<data::CsvField> fields;
  std::string unquoted;
  while (!text.empty()) {
    const std::optional<size_t> size = data::CsvRecordSize(text, /*last=*/true, dialect);
    Check(size && *size > 0 && *size <= text.size(), "a record of no size");
    if (!data::SplitCsvRecord(data::WithoutLineEnd(text.substr(0, *size)), dialect, fields)) {
      Check(!fields.empty(), "a record without a field");
      for (const data::CsvField& field : fields) data::AppendUnquoted(field.text, unquoted);
    }
    text.remove_prefix(*size);
  }
  Check(unquoted.size() <= (1U << 20), "more text than there was");
}

void ReadRows(const data::CsvSource& options) {
  const std::shared_ptr<data::IndexedSource> source = data::OpenCsv(options, "source");
  data::Row row;
  for (int64_t i = 0; i < source->size(); ++i) {
    Takes([&] { source->Read(i, row); });
  }
}

}  // namespace

void RunCsv(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  const data::CsvDialect dialect{.delimiter = (choice & 1) != 0 ? ';' : ',',
                                 .quotes = (choice & 2) == 0};
  const int reader = choice / 4 % 4;
  if (reader == 0) {
    Split(input, dialect);
    return;
  }
  data::CsvSource options{.file_pattern = TheFiles().Put("t.csv", input),
                          .field_delim = std::string(1, dialect.delimiter),
                          .use_quote_delim = dialect.quotes};
  if (reader == 1) {
    (void)data::ProfileCsv(options, {.fraction = 0.25, .last = (choice & 16) != 0});
    return;
  }
  if (reader == 2) {
    options.header = false;
    options.column_names = {"a", "b", "c"};
    options.column_defaults = {data::CsvDefault{.dtype = "int64", .default_value = {}}, 1.5,
                               "string"};
    options.na_value = "NA";
  }
  if ((choice & 32) != 0) options.num_rows_for_inference = {};
  if ((choice & 64) != 0) options.split = data::HashSplit{.part = "train", .eval_fraction = 0.5};
  ReadRows(options);
}

}  // namespace tpuest::fuzz
