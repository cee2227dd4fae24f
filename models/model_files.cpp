#include "models/model_files.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::models {
namespace {

// The parameters that a type stands for, of a line "  resnet50: {depth: 50, stages: [3, 4]}".
std::map<std::string, std::string> PresetOf(const ModelFile& file, std::string_view type) {
  const std::string begin = "\n  " + std::string(type) + ": {";
  const size_t at = file.text.find(begin) + begin.size();
  const std::string_view inside = file.text.substr(at, file.text.find("}\n", at) - at);
  std::map<std::string, std::string> preset;
  std::string item;
  int depth = 0;
  const auto add = [&] {
    const size_t colon = item.find(": ");
    if (colon != std::string::npos) preset[item.substr(0, colon)] = item.substr(colon + 2);
    item.clear();
  };
  for (const char c : inside) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      add();
    } else if (!(c == ' ' && item.empty())) {
      item += c;
    }
  }
  add();
  return preset;
}

// A line "  depth: required   # comment" with the type's value of the parameter.
std::string WithPreset(const std::string& line, const std::map<std::string, std::string>& preset) {
  const size_t begin = line.find_first_not_of(' ');
  const size_t colon = line.find(": ");
  if (begin == std::string::npos || colon == std::string::npos) return line;
  const auto found = preset.find(line.substr(begin, colon - begin));
  if (found == preset.end()) return line;
  const size_t end = line.find(' ', colon + 2);
  const std::string rest = end == std::string::npos ? "" : line.substr(end);
  return line.substr(0, colon + 2) + found->second + rest;
}

}  // namespace

std::vector<std::string_view> TypesOf(const ModelFile& file) {
  constexpr std::string_view kModels = "\nmodels:\n";
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string_view> types;
  size_t at = file.text.find(kModels) + kModels.size();
  while (file.text.substr(at).starts_with(kIndent)) {
    const size_t begin = at + kIndent.size();
    types.push_back(file.text.substr(begin, file.text.find(':', begin) - begin));
    at = file.text.find('\n', at) + 1;
  }
  return types;
}

std::string_view SummaryOf(const ModelFile& file) {
  constexpr std::string_view kComment = "# ";
  const std::string_view first = file.text.substr(0, file.text.find('\n'));
  const std::string_view line = first.substr(std::min(kComment.size(), first.size()));
  return line.substr(0, line.find_first_of(",;:"));
}

const ModelFile* FindModelFile(std::string_view type) {
  for (const ModelFile& file : ModelFiles()) {
    const std::vector<std::string_view> types = TypesOf(file);
    if (std::find(types.begin(), types.end(), type) != types.end()) return &file;
  }
  return nullptr;
}

std::string ModelSectionText(std::string_view type) {
  const ModelFile* const file = FindModelFile(type);
  Check(file != nullptr, "no model file has '{}'", type);
  const std::map<std::string, std::string> preset = PresetOf(*file, type);
  std::string text;
  bool in_models = false;
  bool in_parameters = false;
  for (const std::string& line : Split(file->text, '\n')) {
    const bool is_key = !line.empty() && line.front() != ' ' && line.front() != '#';
    if (is_key) {
      in_parameters = line == "parameters:";
      if (line == "models:") text += "model:\n  type: Functional\n";
      in_models = line == "models:";
    }
    if (in_models) continue;
    const bool is_comment = line.starts_with('#');
    const std::string written = in_parameters ? WithPreset(line, preset) : line;
    text += (is_comment || line.empty() ? "" : "  ") + written + "\n";
  }
  text.pop_back();  // Split gives what is behind the last newline, too
  return text;
}

}  // namespace tpuest::models
