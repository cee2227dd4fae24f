// Reads a value of one of several types; the YAML decides the type before the value is read.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/schema.h"
#include "config/tree_reader.h"
#include "config/variant.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

bool TakesNumbers(const Type& variant) {
  return !AlternativesOf(variant, Kind::kInteger).empty() ||
         !AlternativesOf(variant, Kind::kNumber).empty() ||
         !AlternativesOf(variant, Kind::kPeriod).empty();
}

// Returns true for a text that is meant as a formula, among numbers and names of types: it contains
// a name, but is not just a word.
bool LooksLikeFormula(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return std::any_of(text.begin(), text.end(), is_letter) &&
         !std::all_of(text.begin(), text.end(), in_word) && NumberHint(text).empty();
}

// Returns the alternative for a plain scalar by the kind of its value; the variant's size if none
// fits.
size_t ScalarAlternative(const Type& variant, const ScalarText& scalar) {
  const auto fits = [&](const Type& type) {
    const std::string& text = scalar.text;
    switch (type.kind) {
      case Kind::kBool:
        return scalar.plain && (text == "true" || text == "false");
      case Kind::kInteger:
        return scalar.plain && ParseInteger(text).has_value() &&
               text.find_first_of("eE.") == std::string::npos;
      case Kind::kNumber:
        return scalar.plain && ParseNumber(text).has_value();
      case Kind::kPeriod:
        return ParsePeriod(text).has_value() && NumberHint(text).empty() &&
               (scalar.plain || !ParseNumber(text));
      default:
        return false;
    }
  };
  const size_t none = variant.alternatives.size();
  for (const Kind kind : {Kind::kBool, Kind::kInteger, Kind::kNumber, Kind::kPeriod}) {
    for (const size_t i : AlternativesOf(variant, kind)) {
      if (fits(*variant.alternatives[i])) return i;
    }
  }
  // "1e4" is an integer if the variant's only numbers are integers.
  const std::vector<size_t> integers = AlternativesOf(variant, Kind::kInteger);
  if (!integers.empty() && scalar.plain && ParseInteger(scalar.text)) return integers.front();
  const size_t named = NamedAlternative(variant, scalar.text);
  const std::vector<size_t> strings = AlternativesOf(variant, Kind::kString);
  if (named != none && (scalar.plain || strings.empty())) return named;
  if (strings.empty()) return none;
  const bool formula = variant.alternatives[strings.front()]->formula;
  return formula && TakesNumbers(variant) && !LooksLikeFormula(scalar.text) ? none
                                                                            : strings.front();
}

}  // namespace

void TreeReader::ReadVariant(const Node& node, const Value& value, const Field& field) {
  const std::vector<size_t> raw = AlternativesOf(*value.type, Kind::kRaw);
  if (!raw.empty()) return ReadAlternative(node, value, raw.front(), field);
  switch (node.kind) {
    case Node::Kind::kNull:
      return Mistyped(node, TypeText(*value.type, field), "");
    case Node::Kind::kScalar:
      return ReadVariantScalar(node, value, field);
    case Node::Kind::kList:
      return ReadVariantList(node, value, field);
    case Node::Kind::kMap:
      return ReadVariantMap(node, value, field);
  }
}

void TreeReader::ReadAlternative(const Node& node, const Value& value, size_t alternative,
                                 const Field& field) {
  const Type* const type = value.type->alternatives[alternative];
  ReadValue(node, {type, value.type->choose(value.at, alternative)}, field);
}

void TreeReader::ReadVariantScalar(const Node& node, const Value& value, const Field& field) {
  const ScalarText scalar = TextOf(node);
  if (!scalar.valid) return;
  const Type& variant = *value.type;
  const size_t alternative = ScalarAlternative(variant, scalar);
  if (alternative < variant.alternatives.size()) {
    if (!variant.alternatives[alternative]->name.empty())
      return ReadBareType(node, value, alternative);
    // For a word that the string does not allow, the message lists everything that the variant
    // allows.
    const bool word =
        variant.alternatives[alternative]->kind == Kind::kString && !field.values.empty() &&
        !IsTypedText(scalar.text) &&
        std::find(field.values.begin(), field.values.end(), scalar.text) == field.values.end();
    if (!word) return ReadAlternative(node, value, alternative, field);
  }
  std::vector<std::string> words(field.values.begin(), field.values.end());
  const std::vector<std::string> names = TypeNames(variant);
  words.insert(words.end(), names.begin(), names.end());
  const std::optional<std::string> near = Nearest(scalar.text, words);
  std::string hint = near ? fmt::format("did you mean '{}'?", *near) : "";
  if (hint.empty() && TakesNumbers(variant)) hint = NumberHint(scalar.text);
  if (hint.empty() && !AlternativesOf(variant, Kind::kBool).empty()) hint = BoolHint(scalar.text);
  if (names.size() == variant.alternatives.size()) return UnknownType(node, scalar.text, variant);
  Mistyped(node, TypeText(variant, field), hint);
}

void TreeReader::ReadVariantList(const Node& node, const Value& value, const Field& field) {
  const std::vector<size_t> lists = AlternativesOf(*value.type, Kind::kList);
  if (lists.empty()) return Mistyped(node, TypeText(*value.type, field), "");
  ReadFirstThatFits(node, value, lists, field);
}

void TreeReader::ReadVariantMap(const Node& node, const Value& value, const Field& field) {
  const Type& variant = *value.type;
  const std::string_view type_key = TypeKey(variant);
  const Node* const type = type_key.empty() ? nullptr : node.Find(type_key);
  if (type != nullptr) return ReadTypedSection(node, *type, value);
  const std::vector<size_t> untyped = UntypedAlternatives(variant, node);
  if (!untyped.empty()) return ReadFirstThatFits(node, value, untyped, field);
  if (type_key.empty()) return Mistyped(node, TypeText(variant, field), "");
  const Span span =
      node.key_place.line != 0 ? Span{node.key_place, node.key_width} : Span{node.place, 1};
  std::string colon;
  for (const Node& child : node.children) {
    if (colon.empty()) colon = ColonHint(child);
  }
  ReportAt(span.place, span.width, fmt::format("missing key '{}'{}", type_key, InPath()),
           colon.empty() ? fmt::format("one of '{}'", Join(TypeNames(variant), "', '")) : colon);
}

void TreeReader::ReadTypedSection(const Node& node, const Node& type, const Value& value) {
  if (type.kind != Node::Kind::kScalar) return Mistyped(type, "the name of a type", "");
  const ScalarText scalar = TextOf(type);
  if (!scalar.valid) return;
  const size_t alternative = NamedAlternative(*value.type, scalar.text);
  if (alternative == value.type->alternatives.size()) {
    return UnknownType(type, scalar.text, *value.type);
  }
  ReadSection(node,
              {value.type->alternatives[alternative], value.type->choose(value.at, alternative)},
              value.type);
}

void TreeReader::UnknownType(const Node& node, const std::string& text, const Type& variant) {
  const std::string_view answer = tree_.others.AnswerTo(text);
  Report(node, fmt::format("unknown {} '{}'", TypeKey(variant), text),
         answer.empty() ? ChoiceHint(text, TypeNames(variant)) : std::string(answer));
}

// Reads `accuracy` for `{type: accuracy}`.
void TreeReader::ReadBareType(const Node& node, const Value& value, size_t alternative) {
  Node section = node;
  section.kind = Node::Kind::kMap;
  ReadSection(section,
              {value.type->alternatives[alternative], value.type->choose(value.at, alternative)},
              value.type);
}

void TreeReader::ReadFirstThatFits(const Node& node, const Value& value,
                                   const std::vector<size_t>& alternatives, const Field& field) {
  for (const size_t alternative : alternatives) {
    // Faults of alternatives that do not fit are discarded: they are not faults of the job.
    if (alternatives.size() == 1) break;
    Faults kept = std::exchange(faults_, {});
    std::set<std::string> reported = reported_;
    ReadAlternative(node, value, alternative, field);
    const bool fits = faults_.empty();
    faults_ = std::move(kept);
    if (fits) return;
    reported_ = std::move(reported);
  }
  ReadAlternative(node, value, alternatives.front(), field);
}

}  // namespace tpuest::config
