#pragma once
// A page of the manual, which can be written for a terminal, as Markdown or as a man page.

#include <string>
#include <string_view>
#include <vector>

namespace tpuest::cli {

// A part of a page. Texts are plain, except that `words between backquotes` are code.
struct Block {
  enum class Kind { kHeading, kParagraph, kCode, kItem };
  Kind kind = Kind::kParagraph;
  std::string text;  // a heading, a paragraph, lines of code, or an item's explanation of its term
  std::string term;  // of an item
  int level = 1;     // of a heading: 1 and 2
};

class Document {
 public:
  Document& Heading(std::string text, int level = 1);
  Document& Paragraph(std::string text);
  // Lines as they are.
  Document& Code(std::string lines);
  // A term with what it means.
  Document& Item(std::string term, std::string text);
  Document& Append(Document other);

  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

// Returns the text for a terminal of `columns` columns (at least 20), without backquotes.
[[nodiscard]] std::string PlainText(const Document& document, int columns);
// For a page of docs/; headings of level 1 are "## ".
[[nodiscard]] std::string Markdown(const Document& document);
// In the language of man(7): `title` is "TPUEST-TRAIN", `section` 1 for commands, 5 for files,
// `version` what the foot of the page says.
[[nodiscard]] std::string ManPage(const Document& document, std::string_view title, int section,
                                  std::string_view version);

}  // namespace tpuest::cli
