#include "core/graph/signature.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <variant>

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
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
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
  Check(false, "signature of {}: type {} cannot have a default", op, type);
  return {};
}

// Returns the position of the default's '=', which is not part of ">=" or "<="; npos if there is
// none.
size_t FindDefault(const std::string& text) {
  size_t at = text.find('=');
  while (at != std::string::npos && at > 0 && (text[at - 1] == '<' || text[at - 1] == '>')) {
    at = text.find('=', at + 1);
  }
  return at;
}

// Takes ">= 1" or "<= 9" off the end of the type, if it is there.
std::optional<int64_t> TakeBound(std::string& type, std::string_view sign) {
  const size_t at = type.find(sign);
  if (at == std::string::npos) return std::nullopt;
  const int64_t bound = std::strtoll(type.c_str() + at + sign.size(), nullptr, 10);
  type = Trim(type.substr(0, at));
  return bound;
}

// Parses "float|double", in which every name is a dtype.
std::vector<DType> ParseDTypes(std::string_view op, const std::string& text) {
  std::vector<DType> dtypes;
  for (const std::string& item : Split(text, '|')) {
    const auto dtype = DTypeFromName(Trim(item));
    Check(dtype.has_value(), "signature of {}: unknown type {}", op, item);
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

// "{'SAME', 'VALID'}".
std::vector<std::string> ParseWords(std::string_view op, const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& item : Split(text.substr(1, text.size() - 2), ',')) {
    const std::string word = Trim(item);
    Check(word.size() >= 2 && word.front() == '\'' && word.back() == '\'',
          "signature of {}: {} is not a quoted word", op, word);
    words.push_back(word.substr(1, word.size() - 2));
  }
  return words;
}

// "name: int", "name: list(int) = [1]", "N: int >= 1", "padding: {'SAME', 'VALID'}", or
// "T: float|double = float", whose dtypes become `allowed`.
AttrDef ParseAttr(std::string_view op, const std::string& text) {
  auto [name, rest] = NameAndRest(op, text);
  AttrDef attr{.name = name};
  std::string default_text;
  if (const size_t equals = FindDefault(rest); equals != std::string::npos) {
    default_text = Trim(rest.substr(equals + 1));
    rest = Trim(rest.substr(0, equals));
  }
  attr.most = TakeBound(rest, "<=");
  attr.least = TakeBound(rest, ">=");
  // Only the names of dtypes that are no attribute type by themselves start a list of them.
  static constexpr std::string_view kTypes[] = {"type",   "int",   "float",  "bool",
                                                "string", "shape", "tensor", "func"};
  bool is_attr_type = rest.starts_with("list(");
  for (const std::string_view type : kTypes) is_attr_type |= rest == type;
  if (rest == "type|resource") {
    attr.type = "type";
    attr.takes_resource = true;
  } else if (rest.starts_with('{')) {
    attr.type = "string";
    attr.words = ParseWords(op, rest);
  } else if (rest.starts_with("list(") && rest.find('|') != std::string::npos) {
    attr.type = "list(type)";
    attr.allowed = ParseDTypes(op, rest.substr(5, rest.size() - 6));
  } else if (is_attr_type) {
    attr.type = rest;
  } else {
    attr.type = "type";
    attr.allowed = ParseDTypes(op, rest);
  }
  if (!default_text.empty()) attr.default_value = ParseDefault(op, attr.type, default_text);
  return attr;
}

// "SAME, EXPLICIT or VALID".
std::string OneOf(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i].empty() || words[i] == " " ? fmt::format("'{}'", words[i]) : words[i];
  }
  return text;
}

std::string Range(const AttrDef& attr) {
  if (attr.least && attr.most && *attr.least == *attr.most) return fmt::format("{}", *attr.least);
  if (attr.least && attr.most) return fmt::format("{} to {}", *attr.least, *attr.most);
  return attr.least ? fmt::format("at least {}", *attr.least)
                    : fmt::format("at most {}", *attr.most);
}

std::string FaultOfDType(const AttrDef& attr, DType found) {
  if (attr.allowed.empty()) {
    if (found != DType::kInvalid && (found != DType::kResource || attr.takes_resource)) return "";
    return fmt::format("{} is not a type for {}; it takes the type of a tensor", NameOf(found),
                       attr.name);
  }
  std::vector<std::string> names;
  for (const DType allowed : attr.allowed) {
    if (allowed == found) return "";
    names.emplace_back(NameOf(allowed));
  }
  return fmt::format("{} is not a type for {}; it takes {}", NameOf(found), attr.name,
                     Join(names, ", "));
}

}  // namespace

const AttrDef* Signature::FindAttr(std::string_view name) const {
  for (const AttrDef& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

std::string AttrDef::FaultOf(const AttrValue& value) const {
  const auto is_outside = [this](int64_t number) {
    return (least && number < *least) || (most && number > *most);
  };
  const auto fault_of_length = [&](size_t length) {
    if (!is_outside(static_cast<int64_t>(length))) return std::string();
    return fmt::format("{} has {} entries, expected {}", name, length, Range(*this));
  };
  return std::visit(
      [&]<class T>(const T& found) -> std::string {
        if constexpr (std::is_same_v<T, int64_t>) {
          if (!is_outside(found)) return "";
          return fmt::format("{} is {}, expected {}", name, found, Range(*this));
        } else if constexpr (std::is_same_v<T, std::string>) {
          const bool fits =
              words.empty() || std::find(words.begin(), words.end(), found) != words.end();
          if (fits) return "";
          return fmt::format("{} is '{}', expected {}", name, found, OneOf(words));
        } else if constexpr (std::is_same_v<T, DType>) {
          return FaultOfDType(*this, found);
        } else if constexpr (std::is_same_v<T, std::vector<DType>>) {
          for (const DType dtype : found) {
            if (std::string fault = FaultOfDType(*this, dtype); !fault.empty()) return fault;
          }
          return fault_of_length(found.size());
        } else if constexpr (requires { found.size(); }) {
          return fault_of_length(found.size());
        } else {
          return "";
        }
      },
      value);
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
