#include "cli/shell/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using Kind = Block::Kind;

constexpr int kLeastColumns = 20;
constexpr int kIndent = 2;  // of all but headings
// An item's text begins beside a term shorter than this, otherwise below it.
constexpr int kTermColumns = 26;

std::string WithoutQuotes(std::string text) {
  std::erase(text, '`');
  return text;
}

// The characters of a text in UTF-8, each one column.
int ColumnsOf(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Returns the text in lines of `columns` columns, broken at spaces; a longer word has a separate
// line.
std::vector<std::string> Wrapped(const std::string& text, int columns) {
  std::vector<std::string> lines = {""};
  for (const std::string& word : Split(text, ' ')) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (ColumnsOf(line) + 1 + ColumnsOf(word) <= columns) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

// Lines that are all indented, the first one behind `head`, which is that wide at most.
std::string Indented(const std::vector<std::string>& lines, int indent, std::string head) {
  std::string text;
  for (const std::string& line : lines) {
    head.append(static_cast<size_t>(std::max(0, indent - ColumnsOf(head))), ' ');
    text += line.empty() ? "\n" : head + line + "\n";
    head.clear();
  }
  return text;
}

std::string PlainItem(const Block& block, int columns) {
  const std::string term = std::string(kIndent, ' ') + WithoutQuotes(block.term);
  const bool is_narrow = columns < 2 * kTermColumns;
  const int indent = is_narrow ? 2 * kIndent : kTermColumns;
  const std::vector<std::string> lines = Wrapped(WithoutQuotes(block.text), columns - indent);
  if (block.text.empty()) return term + "\n";
  if (is_narrow || ColumnsOf(term) + 2 > kTermColumns) {
    return term + "\n" + Indented(lines, indent, "");
  }
  return Indented(lines, indent, term);
}

std::string PlainBlock(const Block& block, int columns) {
  switch (block.kind) {
    case Kind::kHeading:
      return block.text + "\n";
    case Kind::kCode:
      return Indented(Split(block.text, '\n'), kIndent, "");
    case Kind::kItem:
      return PlainItem(block, columns);
    case Kind::kParagraph:
      break;
  }
  return Indented(Wrapped(WithoutQuotes(block.text), columns), 0, "");
}

// A "<" outside of code would begin HTML.
std::string Escaped(const std::string& text) {
  std::string escaped;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    if (c == '<' && !is_code) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string MarkdownBlock(const Block& block) {
  switch (block.kind) {
    case Kind::kHeading:
      return fmt::format("{} {}\n", std::string(static_cast<size_t>(block.level) + 1, '#'),
                         block.text);
    case Kind::kCode:
      return fmt::format("```\n{}\n```\n", block.text);
    case Kind::kItem:
      return block.text.empty() ? fmt::format("- {}\n", block.term)
                                : fmt::format("- {}: {}\n", block.term, Escaped(block.text));
    case Kind::kParagraph:
      break;
  }
  return Escaped(block.text) + "\n";
}

// Text of man pages: dashes that can be copied, no requests by chance, code in bold.
std::string Roff(const std::string& text) {
  std::string roff;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') {
      roff += is_code ? "\\fR" : "\\fB";
      is_code = !is_code;
    } else if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
  }
  return !roff.empty() && (roff[0] == '.' || roff[0] == '\'') ? "\\&" + roff : roff;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string ManBlock(const Block& block) {
  switch (block.kind) {
    case Kind::kHeading:
      return block.level == 1 ? fmt::format(".SH {}\n", Roff(Upper(block.text)))
                              : fmt::format(".SS {}\n", Roff(block.text));
    case Kind::kCode: {
      std::string code = ".PP\n.nf\n.RS\n";
      for (const std::string& line : Split(block.text, '\n')) code += Roff(line) + "\n";
      return code + ".RE\n.fi\n";
    }
    case Kind::kItem:
      return fmt::format(".TP\n{}\n{}\n", Roff(block.term), Roff(block.text));
    case Kind::kParagraph:
      break;
  }
  return fmt::format(".PP\n{}\n", Roff(block.text));
}

// A blank line separates blocks, except consecutive items.
template <class Write>
std::string Joined(const Document& document, Write write) {
  std::string text;
  const Block* before = nullptr;
  for (const Block& block : document.blocks()) {
    const bool is_list =
        before != nullptr && before->kind == Kind::kItem && block.kind == Kind::kItem;
    if (before != nullptr && !is_list) text += "\n";
    text += write(block);
    before = &block;
  }
  return text;
}

}  // namespace

Document& Document::Heading(std::string text, int level) {
  blocks_.push_back({Kind::kHeading, std::move(text), "", level});
  return *this;
}

Document& Document::Paragraph(std::string text) {
  blocks_.push_back({Kind::kParagraph, std::move(text), "", 1});
  return *this;
}

Document& Document::Code(std::string lines) {
  blocks_.push_back({Kind::kCode, std::move(lines), "", 1});
  return *this;
}

Document& Document::Item(std::string term, std::string text) {
  blocks_.push_back({Kind::kItem, std::move(text), std::move(term), 1});
  return *this;
}

Document& Document::Append(Document other) {
  std::move(other.blocks_.begin(), other.blocks_.end(), std::back_inserter(blocks_));
  return *this;
}

std::string PlainText(const Document& document, int columns) {
  return Joined(document, [columns = std::max(columns, kLeastColumns)](const Block& block) {
    return PlainBlock(block, columns);
  });
}

std::string Markdown(const Document& document) { return Joined(document, MarkdownBlock); }

std::string ManPage(const Document& document, std::string_view title, int section,
                    std::string_view version) {
  std::string page = fmt::format(".TH {} {} \"\" \"tpuest {}\"\n", title, section, version);
  for (const Block& block : document.blocks()) page += ManBlock(block);
  return page;
}

}  // namespace tpuest::cli
