#include "config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <sstream>

#include "config/yaml_builder.h"
#include "config/yaml_text.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

// yaml-cpp's wording of an error, to recognize it, and ours, which is clearer.
struct Wording {
  std::string_view theirs;
  std::string_view ours;
  std::string_view hint;
};

constexpr std::array<Wording, 9> kWordings = {{
    {"illegal map value", "a ':' is not allowed here",
     "keys of a section start in the same column; quote a value that contains ': '"},
    {"illegal tab when looking for indentation", "a tab cannot indent YAML", "use spaces"},
    {"end of map not found", "this line does not fit the section above",
     "keys of a section start in the same column"},
    {"end of sequence not found", "this line does not fit the list above",
     "items of a list start in the same column"},
    {"end of map flow not found", "expected ',' or '}' here to continue or close the '{' before",
     "quote a value that contains '{', '[' or ','"},
    {"end of sequence flow not found",
     "expected ',' or ']' here to continue or close the '[' before",
     "quote a value that contains '{', '[' or ','"},
    {"the referenced anchor is not defined", "no anchor of this name is defined above", ""},
    {"unknown token", "unexpected character", "quote a value that starts with it"},
    {"illegal block entry", "a list item is not allowed here", ""},
}};

// Returns the byte of the text that yaml-cpp means; yaml-cpp sees one escape for each surrogate
// pair.
size_t OffsetOf(const YAML::Mark& mark, const YamlText& text, const SurrogatePairs& pairs) {
  if (mark.column < 0) return text.Offset(mark.line, 0);
  const size_t offset = pairs.Offset(text.Offset(mark.line, 0), static_cast<size_t>(mark.column));
  return std::min(offset, text.text().size());
}

class Handler final : public YAML::EventHandler {
 public:
  Handler(const YamlText& text, const SurrogatePairs& pairs, YamlBuilder& builder)
      : text_(text), pairs_(pairs), builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    throw Error(Code::kUsage, "a second YAML document starts here", "a job is one document")
        .At(text_.PlaceOf(At(mark)));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.Null(At(mark), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.Alias(At(mark), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseTag(mark, tag);
    builder_.Scalar(At(mark), anchor, value, tag == "!");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    builder_.Open(At(mark), anchor, Node::Kind::kList);
  }
  void OnSequenceEnd() override { builder_.Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseTag(mark, tag);
    builder_.Open(At(mark), anchor, Node::Kind::kMap);
  }
  void OnMapEnd() override { builder_.Close(); }

 private:
  [[nodiscard]] size_t At(const YAML::Mark& mark) const { return OffsetOf(mark, text_, pairs_); }

  // yaml-cpp gives the tag "?" to plain and "!" to quoted scalars.
  void RefuseTag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Error(Code::kUsage, fmt::format("the tag '{}' has no meaning here", tag),
                "types follow from the keys; quote a string that looks like a number")
        .At(text_.PlaceOf(At(mark)));
  }

  const YamlText& text_;
  const SurrogatePairs& pairs_;
  YamlBuilder& builder_;
  int documents_ = 0;
};

// Records only where double quotes open.
class QuoteFinder final : public YAML::EventHandler {
 public:
  explicit QuoteFinder(const YamlText& text) : text_(text) {}

  [[nodiscard]] const std::vector<size_t>& quotes() const { return quotes_; }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    const size_t start = text_.SkipAnchor(text_.Offset(mark.line, mark.column));
    const bool is_quote = start < text_.text().size() && text_.text()[start] == '"';
    if (tag == "!" && is_quote) quotes_.push_back(start);
  }
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

 private:
  const YamlText& text_;
  std::vector<size_t> quotes_;
};

// Returns the position of a tab in a line's indentation, or npos.
size_t TabInIndentation(std::string_view line) {
  const size_t tab = line.find('\t');
  return tab == line.find_first_not_of(' ') ? tab : std::string_view::npos;
}

Error SyntaxError(const YAML::Exception& error, const YamlText& text,
                  const SurrogatePairs& pairs = {}) {
  const size_t tab = TabInIndentation(text.Line(error.mark.line));
  if (tab != std::string_view::npos) {
    const size_t offset = text.Offset(error.mark.line, static_cast<int>(tab));
    return Error(Code::kUsage, "a tab cannot indent YAML", "use spaces").At(text.PlaceOf(offset));
  }
  std::string message = "not YAML: " + error.msg;
  std::string hint;
  for (const Wording& wording : kWordings) {
    if (error.msg != wording.theirs) continue;
    message = wording.ours;
    hint = wording.hint;
  }
  return Error(Code::kUsage, message, hint).At(text.PlaceOf(OffsetOf(error.mark, text, pairs)));
}

void ReadEvents(const std::string& text, YAML::EventHandler& handler) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(handler)) continue;
}

// Only yaml-cpp knows which quotes are quotes: the text is read once more to find them.
SurrogatePairs FindSurrogatePairs(const YamlText& text) {
  if (!HasSurrogateEscape(text.text())) return {};
  QuoteFinder finder(text);
  try {
    ReadEvents(WithoutSurrogates(text.text()), finder);
  } catch (const YAML::Exception& error) {
    throw SyntaxError(error, text);
  }
  return {text, finder.quotes()};
}

Node Parse(const YamlText& text, const Origin& origin, Faults& faults) {
  const SurrogatePairs pairs = FindSurrogatePairs(text);
  YamlBuilder builder(text, origin, faults);
  Handler handler(text, pairs, builder);
  try {
    ReadEvents(pairs.Joined(text.text()), handler);
  } catch (const YAML::Exception& error) {
    throw SyntaxError(error, text, pairs);
  }
  return builder.TakeRoot();
}

}  // namespace

Node ParseYaml(std::string_view text, const std::string& file, const Origin& origin,
               Sources& sources, Faults& faults) {
  const YamlText yaml(NormalisedText(text), file);
  // Added before any error, because errors show the line.
  sources.Add(file, yaml.text());
  CheckEncoding(yaml);
  Node root = Parse(yaml, origin, faults);
  if (root.kind == Node::Kind::kNull) {
    root.kind = Node::Kind::kMap;
    root.origin = origin;
  }
  root.place = root.kind == Node::Kind::kMap ? Place{file, 1, 1} : root.place;
  return root;
}

Node ParseFlowValue(std::string_view text, size_t start, const Place& place, const Origin& origin) {
  // "[" replaces "=", so that byte N of the document is byte N of the argument.
  std::string document(start - 1, ' ');
  document += "[" + std::string(text.substr(start)) + "\n]";
  const YamlText yaml(std::move(document), place, text);
  CheckEncoding(yaml);
  Faults faults;
  Node list = Parse(yaml, origin, faults);
  faults.ThrowAny(Code::kUsage);
  if (list.children.size() > 1) {
    throw Error(Code::kUsage, fmt::format("expected one value, found {}", list.children.size()),
                fmt::format("did you mean '[{}]'?", text.substr(start)))
        .At(yaml.PlaceOf(start));
  }
  if (!list.children.empty()) return std::move(list.children.front());
  Node null;
  null.place = yaml.PlaceOf(start);
  null.origin = origin;
  return null;
}

}  // namespace tpuest::config
