#pragma once
// A Backend that only lowers graphs: for modules that are inspected, or compiled for devices that
// this machine does not have.

#include <optional>

#include "core/backend/hlo/lower.h"

namespace tpuest {

// The module that a PJRT plugin compiles for this program: a loop of steps if the program has
// targets, otherwise a single step.
[[nodiscard]] LoweredModule LowerProgram(const ProgramSpec& spec, const CompileOptions& options);

class HloBackend final : public Backend {
 public:
  // Lowers; the program that it returns cannot run (Check fails).
  [[nodiscard]] std::unique_ptr<Program> Compile(const ProgramSpec& spec,
                                                 const CompileOptions& options,
                                                 VariableStore& variables) override;
  // The module of the last compiled program. Check fails if there is none.
  [[nodiscard]] const LoweredModule& module() const;

 private:
  std::optional<LoweredModule> module_;
};

}  // namespace tpuest
