#include "core/estimator/options/eval_spec.h"

#include <set>

#include "core/base/faults.h"
#include "core/base/text.h"
#include "core/estimator/options/eval_name.h"

namespace tpuest {
namespace {

// "['best', 'latest']", as Python prints a list.
std::string ListText(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("'" + name + "'");
  return fmt::format("[{}]", Join(quoted, ", "));
}

class EvalSpecValidator {
 public:
  std::vector<Fault> Run(const std::vector<NamedEvalSpec>& specs) {
    std::set<std::string> folders;
    for (const NamedEvalSpec& named : specs) {
      CheckSpec(*named.spec, named.key);
      CheckEvalName(named.spec->name.value_or(""), named.key + ".name");
      if (named.key != "eval_spec") CheckEvalName(named.label, named.key);
      faults_.Expect(
          folders.insert(named.name).second, named.key + ".name",
          fmt::format("two eval_spec entries write events to {}/", EvalFolderName(named.name)),
          "give each a different name");
      for (const AnyExporter& exporter : named.spec->exporters) {
        names_.push_back(CommonOf(exporter).name);
      }
    }
    for (const NamedEvalSpec& named : specs) CheckExporters(*named.spec, named.key + ".exporters");
    return faults_.Take();
  }

 private:
  void CheckSpec(const EvalSpec& spec, const std::string& key) {
    faults_.Expect(spec.steps.value_or(1) > 0, key + ".steps",
                   fmt::format("Must specify steps > 0, given: {}", spec.steps.value_or(0)),
                   "null evaluates the whole input");
    faults_.Expect(
        spec.start_delay_secs >= 0, key + ".start_delay_secs",
        fmt::format("Must specify start_delay_secs >= 0, given: {}", spec.start_delay_secs));
    faults_.Expect(spec.throttle_secs >= 0, key + ".throttle_secs",
                   fmt::format("Must specify throttle_secs >= 0, given: {}", spec.throttle_secs));
    faults_.Expect(
        spec.every_steps.value_or(1) > 0, key + ".every_steps",
        fmt::format("Must specify every_steps > 0, given: {}", spec.every_steps.value_or(0)),
        "null evaluates at each checkpoint");
  }

  void CheckEvalName(const std::string& name, const std::string& key) {
    const std::string fault = FaultOfEvalName(name);
    faults_.Expect(fault.empty(), key, fault);
  }

  void CheckExporters(const EvalSpec& spec, const std::string& key) {
    for (size_t i = 0; i < spec.exporters.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", key, i);
      CheckName(CommonOf(spec.exporters[i]).name, at + ".name");
      if (const auto* const latest = std::get_if<LatestExporterOptions>(&spec.exporters[i])) {
        faults_.Expect(
            latest->exports_to_keep.value_or(1) > 0, at + ".exports_to_keep",
            fmt::format("`exports_to_keep`, if provided, must be positive number. Got {}",
                        latest->exports_to_keep.value_or(0)));
      }
      if (const auto* const best = std::get_if<BestExporterOptions>(&spec.exporters[i])) {
        faults_.Expect(
            best->exports_to_keep.value_or(1) > 0, at + ".exports_to_keep",
            fmt::format("`exports_to_keep`, if provided, must be a positive number. Got {}",
                        best->exports_to_keep.value_or(0)));
      }
    }
  }

  void CheckName(const std::string& name, const std::string& key) {
    faults_.Expect(
        !name.empty(), key,
        fmt::format("An Exporter cannot have a name that is `None` or empty. All exporter "
                    "names: {}",
                    ListText(names_)));
    faults_.Expect(name.find('/') == std::string::npos && name != "..", key,
                   fmt::format("'{}' is not a valid name of a folder in export/", name));
    if (name.empty()) return;
    faults_.Expect(
        seen_.insert(name).second, key,
        fmt::format("`exporters` must have unique names. Such a name cannot be `None`. All "
                    "exporter names: {}",
                    ListText(names_)));
  }

  Faults faults_;
  std::vector<std::string> names_;
  std::set<std::string> seen_;
};

}  // namespace

std::string EvalFolderName(std::string_view name) {
  return name.empty() ? "eval" : fmt::format("eval_{}", name);
}

std::string FaultOfEvalName(std::string_view name) {
  if (name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos)
    return "";
  return fmt::format("name is '{}', but must not contain '/': events go to model_dir/eval_NAME",
                     name);
}

std::vector<NamedEvalSpec> SpecsOf(const EvalSpecs& specs) {
  if (const auto* const one = std::get_if<EvalSpec>(&specs)) {
    return {{one, "eval_spec", one->name.value_or("eval"), one->name.value_or("")}};
  }
  const auto& several = std::get<std::map<std::string, EvalSpec>>(specs);
  std::vector<NamedEvalSpec> named;
  for (const auto& [key, spec] : several) {
    named.push_back({&spec, "eval_spec." + key, key, spec.name.value_or(key)});
  }
  return named;
}

std::vector<Fault> Validate(const EvalSpecs& specs) {
  return EvalSpecValidator().Run(SpecsOf(specs));
}

const ExporterOptions& CommonOf(const AnyExporter& exporter) {
  return std::visit([](const auto& of) -> const ExporterOptions& { return of; }, exporter);
}

}  // namespace tpuest
