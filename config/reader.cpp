#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/flow_text.h"
#include "config/schema.h"
#include "config/substitute.h"
#include "config/tree_reader.h"
#include "core/base/path_scheme.h"
#include "core/base/text.h"

namespace tpuest::config {
namespace {

using Kind = Type::Kind;

std::string Described(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return node.width == 0 ? "nothing" : "null";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a section";
    case Node::Kind::kScalar:
      break;
  }
  std::string text = node.text.substr(0, 80);
  if (text.size() < node.text.size()) text += "...";
  return node.quoted ? fmt::format("the string \"{}\"", text) : fmt::format("'{}'", text);
}

std::string UnquoteHint(const std::string& text) {
  return fmt::format("did you mean {} without quotes?", text);
}

// Keys of paths that are not resolved against the job's folder: outputs of a run, and checkpoints.
constexpr std::array kPathKeys = {"cache",      "checkpoint_path", "ckpt_to_initialize_from",
                                  "eval_dir",   "export_dir_base", "mirror",
                                  "model_dir",  "output_dir",      "path",
                                  "token_file", "warm_start_from"};

// Returns true if the key at the end of a schema path takes a path.
bool IsPathKey(std::string_view schema_path, const Field& field) {
  if (field.input_path) return true;
  const std::string_view name = schema_path.substr(schema_path.rfind('.') + 1);
  return std::find(kPathKeys.begin(), kPathKeys.end(), name) != kPathKeys.end();
}

// Input paths are relative to the file that names them; on the command line, to the working
// directory.
std::string ResolvedInput(const std::string& text, const Node& node) {
  const bool from_file =
      node.origin.kind == Origin::Kind::kJobFile || node.origin.kind == Origin::Kind::kBaseFile;
  if (!from_file || text.empty() || text == "-") return text;
  return PathBeside(node.place.file, text);
}

// Returns the hint for a text that is not a number: in a key of seconds, 10m may mean 600.
std::string NoNumberHint(std::string_view key, const std::string& text) {
  const std::optional<Period> period = ParsePeriod(text);
  const bool is_time = period && period->unit == Period::Unit::kSeconds;
  if (!is_time || !key.ends_with("_secs")) return NumberHint(text);
  return fmt::format("this key is in seconds: {}", NumberText(period->value));
}

bool MayBeLeftEmpty(const Node& node, const Value& value, const Field& field) {
  return node.kind == Node::Kind::kNull && !node.key.empty() && NullIsEmpty(value, field);
}

}  // namespace

Span ValueSpan(const Node& node) {
  if (node.width == 0 && node.key_place.line != 0) return {node.key_place, node.key_width};
  return {node.place, node.width};
}

std::string ChoiceHint(const std::string& word, const std::vector<std::string>& words) {
  if (const std::optional<std::string> near = Nearest(word, words)) {
    return fmt::format("did you mean '{}'?", *near);
  }
  return words.empty() ? "" : fmt::format("one of '{}'", Join(words, "', '"));
}

TreeReader::Step::Step(TreeReader& reader, const std::string& step, const std::string& schema_step)
    : reader_(reader), path_size_(reader.path_.size()), schema_size_(reader.schema_path_.size()) {
  const auto append = [](std::string& path, const std::string& part) {
    if (!path.empty() && !part.starts_with('[')) path += '.';
    path += part;
  };
  append(reader.path_, step);
  append(reader.schema_path_, schema_step);
}

TreeReader::Step::~Step() {
  reader_.path_.resize(path_size_);
  reader_.schema_path_.resize(schema_size_);
}

void TreeReader::ReadRoot() {
  if (tree_.root.kind != Node::Kind::kMap) {
    Report(tree_.root,
           fmt::format("expected a job, a section of keys; found {}", Described(tree_.root)),
           "a job begins with 'version: 1'");
    return;
  }
  ReadSection(tree_.root, root_, nullptr);
}

void TreeReader::ReportAt(const Place& place, int width, std::string message, std::string hint) {
  faults_.Add({std::move(message), std::move(hint), path_, place, width});
}

void TreeReader::Report(const Node& node, std::string_view what, std::string hint) {
  const Span span = ValueSpan(node);
  const std::string id =
      fmt::format("{}:{}:{} {}", span.place.file, span.place.line, span.place.column, what);
  if (!reported_.insert(id).second) return;
  ReportAt(span.place, span.width, PathPrefix() + std::string(what), std::move(hint));
}

void TreeReader::Mistyped(const Node& node, std::string_view expected, std::string hint) {
  std::string found = Described(node);
  if (node.kind == Node::Kind::kScalar) {
    const Substituted substituted = Substitute(tree_, node.text);
    if (substituted.changed && !substituted.fault) {
      found = fmt::format("'{}', the value of {}", substituted.text, node.text);
    }
  }
  Report(node, fmt::format("expected {}, found {}", expected, found), std::move(hint));
}

ScalarText TreeReader::TextOf(const Node& node) {
  Substituted substituted = Substitute(tree_, node.text);
  if (substituted.fault) Report(node, *substituted.fault, substituted.hint);
  return {.text = std::move(substituted.text),
          .plain = !node.quoted || substituted.changed,
          .valid = !substituted.fault};
}

Node TreeReader::WithVariables(const Node& node) {
  Node copy = node;
  if (node.kind == Node::Kind::kScalar) {
    const ScalarText scalar = TextOf(node);
    copy.text = scalar.text;
    copy.quoted = !scalar.plain;
  }
  for (Node& child : copy.children) child = WithVariables(child);
  return copy;
}

void TreeReader::ReadValue(const Node& node, const Value& value, const Field& field) {
  switch (value.type->kind) {
    case Kind::kOptional:
      return ReadOptional(node, value, field);
    case Kind::kList:
      return ReadList(node, value, field);
    case Kind::kMap:
      return ReadMap(node, value, field);
    case Kind::kSection:
      return ReadSection(node, value, nullptr);
    case Kind::kVariant:
      return ReadVariant(node, value, field);
    case Kind::kRaw:
      return StoreRaw(node, value);
    default:
      return ReadScalar(node, value, field);
  }
}

void TreeReader::ReadScalar(const Node& node, const Value& value, const Field& field) {
  if (MayBeLeftEmpty(node, value, field)) return;
  if (node.kind != Node::Kind::kScalar) return Mistyped(node, TypeText(*value.type, field), "");
  const ScalarText scalar = TextOf(node);
  if (!scalar.valid) return;
  switch (value.type->kind) {
    case Kind::kBool:
      if (!scalar.plain || (scalar.text != "true" && scalar.text != "false")) {
        return Mistyped(node, "true or false", BoolHint(scalar.text));
      }
      *static_cast<bool*>(value.at) = scalar.text == "true";
      return;
    case Kind::kInteger:
      return StoreInteger(node, scalar, value);
    case Kind::kNumber:
      return StoreNumber(node, scalar, value);
    case Kind::kPeriod:
      return StorePeriod(node, scalar, value);
    default:
      return StoreString(node, scalar, value, field);
  }
}

void TreeReader::StoreInteger(const Node& node, const ScalarText& scalar, const Value& value) {
  const std::optional<Integer> integer = ParseInteger(scalar.text);
  if (!integer && value.type->set_epochs != nullptr) return StoreEpochs(node, scalar, value);
  if (integer && !scalar.plain) return Mistyped(node, "an integer", UnquoteHint(scalar.text));
  if (!integer) return Mistyped(node, "an integer", NoNumberHint(path_, scalar.text));
  if (value.type->set_integer(value.at, integer->negative, integer->magnitude)) return;
  Mistyped(node, fmt::format("an integer from {} to {}", value.type->min, value.type->max), "");
}

// Stores a count of steps that is not an integer.
void TreeReader::StoreEpochs(const Node& node, const ScalarText& scalar, const Value& value) {
  std::string hint = NumberHint(scalar.text);
  const std::optional<Period> period = ParsePeriod(scalar.text);
  if (period && hint.empty()) {
    if (period->unit == Period::Unit::kEpochs && period->value > 0) {
      return value.type->set_epochs(value.at, period->value);
    }
    if (period->unit == Period::Unit::kSeconds) hint = "use the key for seconds instead";
  }
  Mistyped(node, TypeText(*value.type, {}), hint);
}

void TreeReader::StoreNumber(const Node& node, const ScalarText& scalar, const Value& value) {
  const std::optional<double> number = ParseNumber(scalar.text);
  if (number && !scalar.plain) return Mistyped(node, "a number", UnquoteHint(scalar.text));
  if (!number) return Mistyped(node, "a number", NoNumberHint(path_, scalar.text));
  *static_cast<double*>(value.at) = *number;
}

// Stores a period: quoted "60s" is also a period; quoted "60" is a string.
void TreeReader::StorePeriod(const Node& node, const ScalarText& scalar, const Value& value) {
  const std::string number_hint = NumberHint(scalar.text);
  const std::optional<Period> period = ParsePeriod(scalar.text);
  const bool bare = ParseNumber(scalar.text).has_value();
  if (period && bare && !scalar.plain) {
    return Mistyped(node, TypeText(*value.type, {}), UnquoteHint(scalar.text));
  }
  if (!period || !number_hint.empty()) {
    return Mistyped(node, TypeText(*value.type, {}), number_hint);
  }
  *static_cast<Period*>(value.at) = *period;
}

void TreeReader::StoreString(const Node& node, const ScalarText& scalar, const Value& value,
                             const Field& field) {
  if (!field.values.empty() &&
      std::find(field.values.begin(), field.values.end(), scalar.text) == field.values.end()) {
    const std::vector<std::string> words(field.values.begin(), field.values.end());
    const std::optional<std::string> near = Nearest(scalar.text, words);
    return Mistyped(node, TypeText(*value.type, field),
                    near ? fmt::format("did you mean '{}'?", *near) : "");
  }
  if (IsPathKey(schema_path_, field)) {
    if (const std::optional<SchemeRefusal> refusal = RefusalOfScheme(scalar.text)) {
      return Report(node, refusal->message, refusal->hint);
    }
  }
  if (value.type->formula) {
    // The text is at the node's place, after an opening quote, unless a variable was substituted.
    const bool verbatim = scalar.text == node.text && scalar.text.find('\n') == std::string::npos;
    Formula& formula = *static_cast<Formula*>(value.at);
    formula.place = ValueSpan(node).place;
    formula.verbatim = verbatim && node.width > 0;
    if (formula.verbatim && node.quoted) ++formula.place.column;
  }
  *static_cast<std::string*>(value.at) =
      field.input_path ? ResolvedInput(scalar.text, node) : scalar.text;
}

void TreeReader::StoreRaw(const Node& node, const Value& value) {
  static_cast<Raw*>(value.at)->text = FlowText(WithVariables(node));
}

void TreeReader::ReadOptional(const Node& node, const Value& value, const Field& field) {
  // The value of a variable may be null: ${STEPS:-null}.
  const bool null_text = node.kind == Node::Kind::kScalar &&
                         node.text.find("${") != std::string::npos && TextOf(node).text == "null";
  if (node.kind == Node::Kind::kNull || null_text) return value.type->clear(value.at);
  ReadValue(node, {value.type->item, value.type->append(value.at, "")}, field);
}

void TreeReader::ReadList(const Node& node, const Value& value, const Field& field) {
  if (MayBeLeftEmpty(node, value, field)) return;
  if (node.kind != Node::Kind::kList) {
    std::string hint = "write [] for an empty list";
    if (node.kind == Node::Kind::kMap) hint = "items of a list start with '- '";
    if (node.kind == Node::Kind::kScalar) hint = fmt::format("did you mean '[{}]'?", node.text);
    return Mistyped(node, "a list", hint);
  }
  value.type->clear(value.at);
  for (size_t i = 0; i < node.children.size(); ++i) {
    const Step step(*this, fmt::format("[{}]", i), "[]");
    ReadValue(node.children[i], {value.type->item, value.type->append(value.at, "")}, field);
  }
}

void TreeReader::ReadMap(const Node& node, const Value& value, const Field& field) {
  // An empty `params:` means the same as no `params:`.
  if (node.kind == Node::Kind::kNull && node.width == 0) return;
  if (node.kind != Node::Kind::kMap) {
    return Mistyped(node, TypeText(*value.type, field), "write {} for an empty section");
  }
  value.type->clear(value.at);
  for (const Node& child : node.children) {
    const Step step(*this, child.key, "<name>");
    ReadValue(child, {value.type->item, value.type->append(value.at, child.key)}, field);
  }
}

void TreeReader::ReadSection(const Node& node, const Value& value, const Type* of) {
  const bool empty = node.kind == Node::Kind::kNull && node.width == 0;
  if (node.kind != Node::Kind::kMap && !empty) return Mistyped(node, "a section of keys", "");
  if (value.type->place != nullptr) {
    *value.type->place(value.at) = node.key_place.line != 0 ? node.key_place : node.place;
  }
  const std::vector<Member> members = MembersOf(value);
  for (const Member& member : members) {
    const Node* const child = node.Find(member.name);
    if (child != nullptr) {
      const Step step(*this, std::string(member.name), std::string(member.name));
      ReadValue(*child, member.value, member.field);
    } else if (member.field.required) {
      const Span span =
          node.key_place.line != 0 ? Span{node.key_place, node.key_width} : Span{node.place, 1};
      const std::string help(member.field.help);
      ReportAt(span.place, span.width, fmt::format("missing key '{}'{}", member.name, InPath()),
               help.empty() ? "" : fmt::format("{}: {}", member.name, help));
    }
  }
  CheckKeys(node, value, members, of);
}

std::vector<std::string> ReadInto(const Tree& tree, const Value& section, Faults& faults) {
  TreeReader reader(tree, section);
  reader.ReadRoot();
  std::vector<Fault> found = reader.TakeFaults();
  SortByPlace(found);
  faults.AddAll(std::move(found));
  return reader.TakeNotes();
}

}  // namespace tpuest::config
