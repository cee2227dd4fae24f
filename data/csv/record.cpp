// Finds the ends of records and fields. Most records have no quotes and are searched eight bytes at
// a time, because reading a CSV file is as fast as finding its delimiters.

#include "data/csv/record.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace tpuest::data {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool Holds(std::string_view text, char c) {
  return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr;
}

// A mask of the zero bytes of `word`: 0x80 for each zero byte, otherwise 0. It is exact, because no
// carry leaves its byte (Warren, Hacker's Delight, 6-1).
uint64_t ZeroBytes(uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fULL;
  return ~(((word & kLow) + kLow) | word | kLow);
}

constexpr uint64_t EightOf(char c) { return 0x0101010101010101ULL * static_cast<uint8_t>(c); }

// The eight bytes from `at` on; bytes beyond the text come from `filler`, which must not match. The
// first byte is the word's lowest, so countr_zero finds the first match.
uint64_t WordAt(std::string_view text, size_t at, uint64_t filler) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t word = filler;
  if (text.size() - at >= 8) {
    std::memcpy(&word, text.data() + at, 8);
  } else {
    std::memcpy(&word, text.data() + at, text.size() - at);
  }
  return word;
}

// The first LF or CR from `from` on, or text.size().
size_t FindLineEnd(std::string_view text, size_t from) {
  for (size_t at = from; at < text.size(); at += 8) {
    const uint64_t word = WordAt(text, at, 0);
    const uint64_t found = ZeroBytes(word ^ EightOf('\n')) | ZeroBytes(word ^ EightOf('\r'));
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  return text.size();
}

// The end of the line that starts at `from`, including its LF, CRLF or CR; nullopt if it may lie
// beyond the text: a CR at the end may be half a CRLF.
std::optional<size_t> LineEnd(std::string_view text, size_t from, bool last) {
  const size_t end = FindLineEnd(text, from);
  if (end == text.size()) return last ? std::optional(end) : std::nullopt;
  if (text[end] == '\n') return end + 1;
  if (end + 1 == text.size()) return last ? std::optional(end + 1) : std::nullopt;
  return text[end + 1] == '\n' ? end + 2 : end + 1;
}

// The quote that closes a field whose text begins at `from`; kNone if there is none. A doubled
// quote means one quote and closes nothing, so the search continues after both.
size_t ClosingQuote(std::string_view text, size_t from) {
  for (size_t quote = text.find('"', from); quote != kNone; quote = text.find('"', quote + 2)) {
    if (quote + 1 == text.size() || text[quote + 1] != '"') return quote;
  }
  return kNone;
}

// Splits a record without quotes, eight bytes at a time.
void SplitAtDelimiters(std::string_view record, char delimiter, std::vector<CsvField>& fields) {
  const uint64_t pattern = EightOf(delimiter);
  size_t begin = 0;
  for (size_t at = 0; at < record.size(); at += 8) {
    const uint64_t word = WordAt(record, at, ~pattern) ^ pattern;
    // Each turn removes the lowest match.
    for (uint64_t found = ZeroBytes(word); found != 0; found &= found - 1) {
      const size_t end = at + static_cast<size_t>(std::countr_zero(found)) / 8;
      fields.push_back({record.substr(begin, end - begin)});
      begin = end + 1;
    }
  }
  fields.push_back({record.substr(begin)});
}

// Parses the field that begins at `at`, and moves `at` to the delimiter after it or to the record's
// end.
std::optional<CsvFault> SplitField(std::string_view record, char delimiter, size_t& at,
                                   CsvField& field) {
  if (at == record.size() || record[at] != '"') {
    const size_t end = std::min(record.find(delimiter, at), record.size());
    field = {record.substr(at, end - at)};
    const size_t quote = field.text.find('"');
    if (quote != kNone) {
      return CsvFault{
          "a quote inside an unquoted field",
          "quote the whole field and double the quotes in it, or set use_quote_delim: false",
          at + quote};
    }
    at = end;
    return std::nullopt;
  }
  const size_t begin = at + 1;
  const size_t close = ClosingQuote(record, begin);
  if (close == kNone) return CsvFault{"the quote that opens here is never closed", "", at};
  field.text = record.substr(begin, close - begin);
  field.doubled = Holds(field.text, '"');
  at = close + 1;
  if (at == record.size() || record[at] == delimiter) return std::nullopt;
  return CsvFault{"text follows the field's closing quote", "double the quotes inside the field",
                  close};
}

}  // namespace

std::optional<size_t> CsvRecordSize(std::string_view text, bool last, const CsvDialect& dialect) {
  std::optional<size_t> line = LineEnd(text, 0, last);
  if (!dialect.quotes || !Holds(text.substr(0, line.value_or(text.size())), '"')) return line;
  // Only a quote at the start of a field hides line ends. So the loop walks the fields up to the
  // known line end; a quoted field that reaches beyond it moves the line end.
  for (size_t field = 0;;) {
    if (field < text.size() && text[field] == '"') {
      const size_t close = ClosingQuote(text, field + 1);
      if (close == kNone) return last ? std::optional(text.size()) : std::nullopt;
      // A quote at the very end may be the first of two.
      if (close + 1 == text.size() && !last) return std::nullopt;
      field = close + 1;
      if (line && close >= *line) line = LineEnd(text, field, last);
    }
    const std::string_view rest = text.substr(0, line.value_or(text.size()));
    const size_t delimiter = rest.find(dialect.delimiter, field);
    if (delimiter == kNone) return line;
    field = delimiter + 1;
  }
}

std::string_view WithoutLineEnd(std::string_view record) {
  if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
  if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
  return record;
}

std::optional<CsvFault> SplitCsvRecord(std::string_view record, const CsvDialect& dialect,
                                       std::vector<CsvField>& fields) {
  fields.clear();
  if (!dialect.quotes || !Holds(record, '"')) {
    SplitAtDelimiters(record, dialect.delimiter, fields);
    return std::nullopt;
  }
  // `at` is at a delimiter or at the end. After a delimiter another field begins, even if it is
  // empty.
  for (size_t at = 0;; ++at) {
    CsvField field;
    if (auto fault = SplitField(record, dialect.delimiter, at, field)) return fault;
    fields.push_back(field);
    if (at == record.size()) return std::nullopt;
  }
}

void AppendUnquoted(std::string_view text, std::string& to) {
  for (size_t at = 0; at < text.size();) {
    // Appends up to and including a quote; skips the second of the two.
    const size_t quote = std::min(text.find('"', at), text.size() - 1);
    to.append(text.substr(at, quote + 1 - at));
    at = quote + 2;
  }
}

}  // namespace tpuest::data
