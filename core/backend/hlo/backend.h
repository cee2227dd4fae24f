#pragma once
// Backend that lowers graphs and goes no further: for modules that are read, or compiled for
// devices that are not there.

#include <optional>

#include "core/backend/hlo/lower.h"

namespace tpuest {

// The module that a PJRT plugin is given for this program: a loop where it has targets, else a
// step.
[[nodiscard]] LoweredModule LowerProgram(const ProgramSpec& spec, const CompileOptions& options);

class HloBackend final : public Backend {
 public:
  // Lowers; the program that it returns cannot run (Check fails).
  [[nodiscard]] std::unique_ptr<Program> Compile(const ProgramSpec& spec,
                                                 const CompileOptions& options,
                                                 VariableStore& variables) override;
  // The module of the program that was compiled last. Check fails if there is none.
  [[nodiscard]] const LoweredModule& module() const;

 private:
  std::optional<LoweredModule> module_;
};

}  // namespace tpuest
