#include "config/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/base/utf8.h"

namespace tpuest::config {
namespace {

// Returns the line for a terminal: without control characters except tabs, without invalid UTF-8.
std::string Printable(std::string_view line) {
  const bool valid = FindInvalidUtf8(line) == std::string_view::npos;
  std::string text(line);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7F || (byte >= 0x80 && !valid)) c = '?';
  }
  return text;
}

// White space as wide as the first `columns` characters of the line. Tabs stay tabs, so the carets
// are below the fault for any width of a tab.
std::string Padding(std::string_view line, int columns) {
  std::string padding;
  for (const char c : line) {
    if (CountCharacters({&c, 1}) == 0) continue;
    if (static_cast<int>(padding.size()) == columns) break;
    padding += c == '\t' ? '\t' : ' ';
  }
  padding.resize(static_cast<size_t>(columns), ' ');
  return padding;
}

std::string Location(const Place& place, bool argument) {
  if (place.file.empty()) return "";
  if (place.line == 0 || argument) return place.file + ": ";
  return fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

struct Cut {
  std::string_view text;
  int before = 0;  // characters of it before the fault
};

// Cuts a line that is too long for a terminal to the part around a character.
Cut Around(std::string_view line, int character) {
  constexpr size_t kMostBytes = 400;
  constexpr size_t kBytesBefore = 60;
  if (line.size() <= kMostBytes) return {line, character};
  size_t at = 0;
  for (int seen = 0; at < line.size(); ++at) {
    seen += CountCharacters(line.substr(at, 1));
    if (seen > character) break;
  }
  size_t begin = at - std::min(at, kBytesBefore);
  while (begin < at && CountCharacters(line.substr(begin, 1)) == 0) ++begin;
  size_t end = std::min(line.size(), begin + kMostBytes);
  while (end > at && end < line.size() && CountCharacters(line.substr(end, 1)) == 0) --end;
  return {line.substr(begin, end - begin), CountCharacters(line.substr(begin, at - begin))};
}

// The source line and the carets below it, without the last newline.
std::string Excerpt(const Fault& fault, const std::string& source, bool argument) {
  const Cut cut = Around(source, std::max(fault.place.column - 1, 0));
  const std::string line = Printable(cut.text);
  const int before = cut.before;
  const int left = std::max(CountCharacters(line) - before, 1);
  const int width = std::clamp(fault.width, 1, left);
  const std::string number = argument ? "" : std::to_string(fault.place.line);
  return fmt::format("{:>5} | {}\n      | {}{}", number, line, Padding(line, before),
                     std::string(static_cast<size_t>(width), '^'));
}

}  // namespace

void Sources::Add(const std::string& file, std::string_view text) {
  files_[file] = {Split(text, '\n'), false};
}

int Sources::AddLine(const std::string& file, std::string_view line) {
  Text& text = files_[file];
  text.arguments = true;
  text.lines.emplace_back(line);
  return static_cast<int>(text.lines.size());
}

const std::string* Sources::Line(const std::string& file, int line) const {
  const auto found = files_.find(file);
  if (found == files_.end() || line < 1) return nullptr;
  const std::vector<std::string>& lines = found->second.lines;
  return static_cast<size_t>(line) > lines.size() ? nullptr : &lines[static_cast<size_t>(line) - 1];
}

bool Sources::HoldsArguments(const std::string& file) const {
  const auto found = files_.find(file);
  return found != files_.end() && found->second.arguments;
}

Error Placed(const Error& error, const Sources& sources) {
  std::vector<Fault> faults = error.faults();
  if (sources.job()) Locate(*sources.job(), faults);
  if (error.code() == Code::kUsage) {
    SortByPlace(faults);
    DropRepeated(faults);
  }
  return {error.code(), std::move(faults)};
}

std::string Render(const Fault& fault, const Sources& sources) {
  const bool argument = sources.HoldsArguments(fault.place.file);
  std::string text = fmt::format("{}error: {}\n", Location(fault.place, argument), fault.message);
  const std::string* const source = sources.Line(fault.place.file, fault.place.line);
  const bool beside = source != nullptr && StartsWith(fault.hint, "did you mean");
  if (source != nullptr) {
    text += Excerpt(fault, *source, argument);
    if (beside) text += " " + fault.hint;
    text += "\n";
  }
  if (!beside && !fault.hint.empty()) text += fmt::format("      = {}\n", fault.hint);
  return text;
}

std::string Render(const std::vector<Fault>& faults, const Sources& sources) {
  std::string text;
  for (const Fault& fault : faults) text += Render(fault, sources);
  return text;
}

}  // namespace tpuest::config
