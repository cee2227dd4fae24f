#include "cli/job/outside_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cli/job/job.h"
#include "config/reflect.h"

namespace tpuest::cli {
namespace {

using config::Value;
using Kind = config::Type::Kind;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKeysOfCode = {{
    {"generator", "command"},
    {"ExecHook", "command"},
    {"ConditionHook", "command"},
    {"plugin", "path"},
    {"CheckpointSaverListener", "begin"},
    {"CheckpointSaverListener", "before_save"},
    {"CheckpointSaverListener", "after_save"},
    {"CheckpointSaverListener", "end"},
}};

bool IsEmpty(const Value& value) {
  if (value.type->kind == Kind::kString) return static_cast<const std::string*>(value.at)->empty();
  return config::ItemsOf(value).empty();
}

Fault Refused(const std::string& key, std::string_view what) {
  return {.message = fmt::format("{}: {}, which --no-commands forbids", key, what),
          .hint = fmt::format("'~{}' on the command line removes it from the job", key),
          .key = key,
          .place = {}};
}

class Finder {
 public:
  void Walk(const Value& value, const std::string& path) {
    switch (value.type->kind) {
      case Kind::kSection:
        return WalkSection(value, path);
      case Kind::kOptional:
        for (const config::Item& item : config::ItemsOf(value)) Walk(item.value, path);
        return;
      case Kind::kList: {
        size_t i = 0;
        for (const config::Item& item : config::ItemsOf(value)) {
          Walk(item.value, fmt::format("{}[{}]", path, i++));
        }
        return;
      }
      case Kind::kMap:
        for (const config::Item& item : config::ItemsOf(value)) {
          Walk(item.value, fmt::format("{}.{}", path, item.key));
        }
        return;
      case Kind::kVariant: {
        const config::Type& type = *value.type;
        return Walk({type.alternatives[type.index(value.at)], type.chosen(value.at)}, path);
      }
      default:
        return;
    }
  }

  [[nodiscard]] std::vector<Fault> Take() { return std::move(faults_); }

 private:
  void WalkSection(const Value& section, const std::string& path) {
    for (const config::Member& member : config::MembersOf(section)) {
      const std::string key =
          path.empty() ? std::string(member.name) : fmt::format("{}.{}", path, member.name);
      if (RunsOutsideCode(section.type->name, member.name) && !IsEmpty(member.value)) {
        const bool is_library = member.value.type->kind == Kind::kString;
        faults_.push_back(Refused(key, is_library ? "is a library" : "is a command"));
      }
      Walk(member.value, key);
    }
  }

  std::vector<Fault> faults_;
};

}  // namespace

bool RunsOutsideCode(std::string_view type, std::string_view key) {
  return std::find(kKeysOfCode.begin(), kKeysOfCode.end(), std::pair(type, key)) !=
         kKeysOfCode.end();
}

std::vector<Fault> OutsideCodeOf(const Job& job) {
  Finder finder;
  finder.Walk(config::ValueOf(const_cast<Job&>(job)), "");  // Visit is not const
  std::vector<Fault> faults = finder.Take();
  if (job.tpuest.device.starts_with("pjrt:")) {
    faults.push_back(Refused("tpuest.device", "is a library"));
  }
  return faults;
}

}  // namespace tpuest::cli
