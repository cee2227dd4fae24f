#include "core/graph/signature.h"

#include <cstdlib>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n\t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \n\t") - begin + 1));
}

// Splits at `separator` outside of brackets, so that "dilations: list(int) = [1,1,1,1]" is one
// part. Empty text has no parts; an empty part between two separators is one.
std::vector<std::string> SplitOutside(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(Trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(Trim(part));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::pair<std::string, std::string> NameAndRest(std::string_view op, const std::string& text) {
  const size_t colon = text.find(':');
  Check(colon != std::string::npos, "signature of {}: '{}' has no type", op, text);
  return {Trim(text.substr(0, colon)), Trim(text.substr(colon + 1))};
}

// "name: dtype", "name: T", "name: N*T" or "name: list(Tin)". A word that is no dtype is the name
// of an attribute; nothing here knows yet whether that attribute is declared.
ArgDef ParseArg(std::string_view op, const std::string& text) {
  auto [name, type] = NameAndRest(op, text);
  ArgDef arg{.name = name};
  if (const size_t star = type.find('*'); star != std::string::npos) {
    arg.number_attr = Trim(type.substr(0, star));
    type = Trim(type.substr(star + 1));
  }
  if (type.starts_with("list(")) {
    arg.type_list_attr = type.substr(5, type.size() - 6);
  } else if (const auto dtype = DTypeFromName(type)) {
    arg.dtype = *dtype;
  } else {
    arg.type_attr = type;
  }
  return arg;
}

// `text` is "[a,b]"; one(item) reads an element.
template <class T, class Fn>
AttrValue ParseList(const std::string& text, Fn&& one) {
  std::vector<T> list;
  for (const std::string& item : SplitOutside(text.substr(1, text.size() - 2), ',')) {
    list.push_back(one(item));
  }
  return list;
}

AttrValue ParseDefault(std::string_view op, const std::string& type, const std::string& text) {
  const auto integer = [](const std::string& t) { return std::strtoll(t.c_str(), nullptr, 10); };
  const auto real = [](const std::string& t) { return std::strtof(t.c_str(), nullptr); };
  const auto dtype = [](const std::string& t) {
    return DTypeFromName(t).value_or(DType::kInvalid);
  };
  const auto same = [](const std::string& t) { return t; };
  if (type == "int") return AttrValue(static_cast<int64_t>(integer(text)));
  if (type == "float") return AttrValue(real(text));
  if (type == "bool") return AttrValue(text == "true");
  if (type == "string") {
    const bool quoted = text.size() > 1 && text.starts_with('"') && text.ends_with('"');
    return AttrValue(quoted ? text.substr(1, text.size() - 2) : text);
  }
  if (type == "type") return AttrValue(dtype(text));
  // The ops that are declared have "unknown" wherever a shape has a default.
  if (type == "shape") return AttrValue(Shape::UnknownRank());
  if (type == "func") return AttrValue(FunctionRef{text});
  if (type == "list(int)") return ParseList<int64_t>(text, integer);
  if (type == "list(float)") return ParseList<float>(text, real);
  if (type == "list(string)") return ParseList<std::string>(text, same);
  if (type == "list(type)") return ParseList<DType>(text, dtype);
  if (type == "list(bool)") {
    return ParseList<bool>(text, [](const std::string& t) { return t == "true"; });
  }
  if (type == "list(shape)") return AttrValue(std::vector<Shape>());
  Check(false, "signature of {}: no default of type {}", op, type);
  return {};
}

// "name: int", "name: list(int) = [1]", or "T: float|double = float", whose dtypes become
// `allowed`.
AttrDef ParseAttr(std::string_view op, const std::string& text) {
  auto [name, rest] = NameAndRest(op, text);
  AttrDef attr{.name = name};
  std::string default_text;
  if (const size_t equals = rest.find('='); equals != std::string::npos) {
    default_text = Trim(rest.substr(equals + 1));
    rest = Trim(rest.substr(0, equals));
  }
  const std::string first = Trim(rest.substr(0, rest.find('|')));
  // Only the names of dtypes that are no attribute type by themselves start a list of them.
  static constexpr std::string_view kTypes[] = {"type",   "int",   "float",  "bool",
                                                "string", "shape", "tensor", "func"};
  bool is_attr_type = rest.starts_with("list(");
  for (const std::string_view type : kTypes) is_attr_type |= rest == type;
  if (is_attr_type) {
    attr.type = rest;
  } else {
    attr.type = "type";
    for (const std::string& item : Split(rest, '|')) {
      const auto dtype = DTypeFromName(Trim(item));
      Check(dtype.has_value(), "signature of {}: unknown type {}", op, item);
      attr.allowed.push_back(*dtype);
    }
  }
  if (!default_text.empty()) attr.default_value = ParseDefault(op, attr.type, default_text);
  return attr;
}

}  // namespace

const AttrDef* Signature::FindAttr(std::string_view name) const {
  for (const AttrDef& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

Signature ParseSignature(std::string_view op, std::string_view text) {
  const std::vector<std::string> parts = SplitOutside(text, ';');
  Check(!parts.empty(), "signature of {} is empty", op);
  const size_t arrow = parts[0].find("->");
  Check(arrow != std::string::npos, "signature of {} has no '->'", op);
  Signature signature;
  for (const std::string& arg : SplitOutside(Trim(parts[0].substr(0, arrow)), ',')) {
    signature.inputs.push_back(ParseArg(op, arg));
  }
  for (const std::string& arg : SplitOutside(Trim(parts[0].substr(arrow + 2)), ',')) {
    signature.outputs.push_back(ParseArg(op, arg));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].empty()) signature.attrs.push_back(ParseAttr(op, parts[i]));
  }
  return signature;
}

}  // namespace tpuest
