#include "core/backend/hlo/backend.h"

namespace tpuest {
namespace {

class LoweredProgram final : public Program {
 public:
  LoweredProgram(std::vector<Shape> fetches, int64_t stack)
      : fetches_(std::move(fetches)), stack_(stack) {}
  std::vector<StepResult> Run(std::span<const StepFeeds> /*steps*/) override {
    Check(false, "a program that is only lowered cannot run");
    return {};
  }
  [[nodiscard]] MemoryUse memory() const override { return {}; }
  [[nodiscard]] std::vector<Shape> fetch_shapes() const override { return fetches_; }
  [[nodiscard]] std::optional<int64_t> steps_per_call() const override { return stack_; }

 private:
  const std::vector<Shape> fetches_;
  const int64_t stack_;
};

}  // namespace

LoweredModule LowerProgram(const ProgramSpec& spec, const CompileOptions& options) {
  return spec.targets.empty() ? LowerToHlo(spec, options) : LowerLoopToHlo(spec, options);
}

std::unique_ptr<Program> HloBackend::Compile(const ProgramSpec& spec, const CompileOptions& options,
                                             VariableStore& /*variables*/) {
  module_ = LowerProgram(spec, options);
  return std::make_unique<LoweredProgram>(module_->fetches, module_->stack);
}

const LoweredModule& HloBackend::module() const {
  Check(module_.has_value(), "nothing was lowered");
  return *module_;
}

}  // namespace tpuest
