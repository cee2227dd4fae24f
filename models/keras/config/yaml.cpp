#include <fmt/format.h>

#include <set>

#include "models/keras/config/job.h"

namespace tpuest {
namespace {

// Whether a string reads back as itself without quotes.
bool IsPlain(const std::string& text) {
  static const std::set<std::string, std::less<>> kWords = {
      "null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || !is_letter(text.front())) return false;
  for (const char c : text) {
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '/' && c != '-') return false;
  }
  std::string lower = text;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return !kWords.contains(lower);
}

// In double quotes, with `$${` for `${`, which stands for a variable in a job.
std::string Quoted(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size() && text[i + 1] == '{') escaped += '$';
    escaped += text[i];
  }
  return KerasJson(escaped).dump(-1, ' ', false, KerasJson::error_handler_t::replace);
}

std::string NumberOf(const KerasJson& value) {
  if (!value.is_number_float()) return value.dump();
  return fmt::format("{}", value.get<double>());
}

std::string Flow(const KerasJson& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return IsPlain(text) ? text : Quoted(text);
  }
  if (value.is_array()) {
    std::string list;
    for (const KerasJson& item : value) list += (list.empty() ? "" : ", ") + Flow(item);
    return "[" + list + "]";
  }
  if (value.is_object()) {
    std::string map;
    for (const auto& [key, item] : value.items()) {
      map += fmt::format("{}{}: {}", map.empty() ? "" : ", ", IsPlain(key) ? key : Quoted(key),
                         Flow(item));
    }
    return "{" + map + "}";
  }
  return value.is_number() ? NumberOf(value) : value.dump();
}

void WriteSection(const KerasJson& section, int indent, std::string& text);

void WriteLayers(const KerasJson& layers, int indent, std::string& text) {
  for (const KerasJson& layer : layers) {
    text += std::string(static_cast<size_t>(indent), ' ') + "- ";
    if (!layer.contains("layers")) {
      text += Flow(layer) + "\n";
      continue;
    }
    std::string nested;
    WriteSection(layer, indent + 2, nested);
    text += nested.substr(static_cast<size_t>(indent) + 2);
  }
}

void WriteSection(const KerasJson& section, int indent, std::string& text) {
  const std::string begin(static_cast<size_t>(indent), ' ');
  for (const auto& [key, value] : section.items()) {
    if (key == "layers") {
      text += begin + "layers:\n";
      WriteLayers(value, indent + 2, text);
    } else {
      text += fmt::format("{}{}: {}\n", begin, key, Flow(value));
    }
  }
}

}  // namespace

std::string KerasYaml(const KerasJson& section, int indent) {
  std::string text;
  WriteSection(section, indent, text);
  return text;
}

}  // namespace tpuest
