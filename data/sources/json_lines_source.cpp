// JSON lines: one object per line.

#include <algorithm>
#include <utility>

#include "data/sources/json_rows.h"
#include "data/sources/line_files.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// Runs a function that reads a line, and adds the line's place to its errors.
template <class Fn>
void AtPlace(const LineFiles& lines, int64_t index, JsonScanner& scanner, Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), error.faults().front().hint)
        .At(lines.PlaceOf(index, scanner.at()));
  }
}

class JsonLines final : public IndexedSource {
 public:
  JsonLines(LineFiles lines, JsonRows rows, const std::string& key)
      : IndexedSource(rows.Specs(key), lines.paths()),
        lines_(std::move(lines)),
        rows_(std::move(rows)) {}
  [[nodiscard]] int64_t size() const override { return lines_.size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return lines_.FromOf(index); }
  void Read(int64_t index, Row& row) const override {
    const std::string_view line = lines_.Line(index);
    row.from = From(index);
    JsonScanner scanner(line);
    AtPlace(lines_, index, scanner, [&] { rows_.Read(scanner, line.size(), row); });
  }

 private:
  LineFiles lines_;
  JsonRows rows_;
};

std::vector<JsonColumn> InferredColumns(const LineFiles& lines, int64_t rows) {
  JsonInference inference;
  for (int64_t i = 0; i < std::min(rows, lines.size()); ++i) {
    JsonScanner scanner(lines.Line(i));
    AtPlace(lines, i, scanner, [&] { inference.Add(scanner); });
  }
  return inference.Columns();
}

void CheckRows(const JsonLinesSource& options, const std::string& key) {
  if (options.num_rows_for_inference.value_or(1) >= 1) return;
  throw Error(Code::kUsage, fmt::format("num_rows_for_inference is {}; expected 1 or more, or null "
                                        "for all",
                                        *options.num_rows_for_inference))
      .Key(key + ".num_rows_for_inference");
}

}  // namespace

std::shared_ptr<IndexedSource> OpenJsonLines(const JsonLinesSource& options,
                                             const std::string& key) {
  CheckRows(options, key);
  std::vector<JsonColumn> columns = StatedColumns(options.features, key + ".features");
  LineFiles lines(OpenFiles(options, key), /*skips_blank=*/true);
  if (columns.empty()) {
    columns = InferredColumns(lines, options.num_rows_for_inference.value_or(lines.size()));
  }
  return std::make_shared<JsonLines>(std::move(lines), JsonRows(std::move(columns)), key);
}

std::optional<std::vector<TensorSpec>> KnownJsonColumns(const JsonLinesSource& options,
                                                        const std::string& key) {
  CheckRows(options, key);
  if (options.features.empty()) return std::nullopt;
  return JsonRows(StatedColumns(options.features, key + ".features")).Specs(key);
}

}  // namespace tpuest::data
