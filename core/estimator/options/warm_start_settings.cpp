#include "core/estimator/options/warm_start_settings.h"

#include "core/base/faults.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

std::string Quoted(const std::string& text) { return "'" + text + "'"; }

// "{'a': f(value), ...}", as Python prints a dict.
template <class T, class F>
std::string Dict(const std::map<std::string, T>& values, F text) {
  std::vector<std::string> items;
  for (const auto& [name, value] : values) items.push_back(Quoted(name) + ": " + text(value));
  return "{" + Join(items, ", ") + "}";
}

std::string NamesText(const decltype(WarmStartSettings::vars_to_warm_start)& names) {
  if (!names) return "None";
  if (const auto* const pattern = std::get_if<std::string>(&*names)) return Quoted(*pattern);
  std::vector<std::string> items;
  for (const std::string& one : std::get<std::vector<std::string>>(*names)) {
    items.push_back(Quoted(one));
  }
  return "[" + Join(items, ", ") + "]";
}

std::string VocabText(const VocabInfo& info) {
  const std::string backup =
      info.backup_initializer
          ? std::visit([](const auto& i) { return std::string(i.kType); }, *info.backup_initializer)
          : "None";
  return fmt::format(
      "VocabInfo(new_vocab={}, new_vocab_size={}, num_oov_buckets={}, old_vocab={}, "
      "old_vocab_size={}, backup_initializer={}, axis={})",
      Quoted(info.new_vocab), info.new_vocab_size, info.num_oov_buckets, Quoted(info.old_vocab),
      info.old_vocab_size, backup, info.axis);
}

std::vector<Fault> CheckVocab(const VocabInfo& info, const std::string& key) {
  Faults faults(key);
  faults.Expect(
      info.axis == 0 || info.axis == 1, "axis",
      fmt::format("The only supported values for the axis argument are 0 and 1.  Provided axis: "
                  "{}",
                  info.axis));
  const char* const all =
      "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
      "prev_vocab_path}.";
  faults.Expect(!info.new_vocab.empty(), "new_vocab", all,
                "new_vocab is the file with the new words");
  faults.Expect(!info.old_vocab.empty(), "old_vocab", all,
                "old_vocab is the file with the old words");
  faults.Expect(info.new_vocab_size > 0, "new_vocab_size", all,
                "new_vocab_size must be greater than 0");
  faults.Expect(info.num_oov_buckets >= 0, "num_oov_buckets",
                fmt::format("num_oov_buckets must be >= 0, got {}", info.num_oov_buckets));
  faults.Expect(
      info.old_vocab_size == -1 || info.old_vocab_size > 0, "old_vocab_size",
      fmt::format("old_vocab_size must be positive, or -1 for all, got {}", info.old_vocab_size));
  return faults.Take();
}

}  // namespace

const std::string& PathOf(const WarmStartFrom& from) {
  if (const auto* const path = std::get_if<std::string>(&from)) return *path;
  return std::get<WarmStartSettings>(from).ckpt_to_initialize_from;
}

WarmStartSettings SettingsOf(const WarmStartFrom& from) {
  if (const auto* const settings = std::get_if<WarmStartSettings>(&from)) return *settings;
  return {.ckpt_to_initialize_from = std::get<std::string>(from)};
}

std::string PythonText(const WarmStartSettings& settings) {
  return fmt::format(
      "WarmStartSettings(ckpt_to_initialize_from={}, vars_to_warm_start={}, "
      "var_name_to_vocab_info={}, var_name_to_prev_var_name={})",
      Quoted(settings.ckpt_to_initialize_from), NamesText(settings.vars_to_warm_start),
      Dict(settings.var_name_to_vocab_info, VocabText),
      Dict(settings.var_name_to_prev_var_name, Quoted));
}

std::vector<Fault> Validate(const WarmStartFrom& from) {
  Faults faults;
  const bool is_path = std::holds_alternative<std::string>(from);
  const std::string key = "warm_start_from";
  faults.Expect(!PathOf(from).empty(), is_path ? key : key + ".ckpt_to_initialize_from",
                "`ckpt_to_initialize_from` MUST be set in WarmStartSettings",
                "name a checkpoint's prefix (without .index) or its folder");
  if (is_path) return faults.Take();
  for (const auto& [name, info] : std::get<WarmStartSettings>(from).var_name_to_vocab_info) {
    faults.AddAll(CheckVocab(info, key + ".var_name_to_vocab_info." + name));
  }
  return faults.Take();
}

}  // namespace tpuest
