#pragma once
// The values that a step returns.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/cpu/compiled_program.h"
#include "core/backend/cpu/step_memory.h"

namespace tpuest {

// Copies a step's fetches out of its memory, which the next step overwrites, and adds those of the
// other processes in the chief.
class FetchedValues {
 public:
  // All outlive it.
  FetchedValues(const CompiledProgram& program, const StepMemory& memory);

  // To be called when a step begins: returns the list for the strings that its host ops make.
  [[nodiscard]] std::deque<std::string>& BeginStep();
  // Fills `fetches` of the step's result.
  void CopyTo(StepResult& result) const;

 private:
  // The memory that string results point into; results keep it alive.
  struct Strings {
    std::deque<std::string> made;
    std::vector<StringArena> fed;
    std::vector<StringArena> constant;
  };

  [[nodiscard]] std::vector<Tensor> OnReplicas(const Value& value, Buffer buffer) const;
  [[nodiscard]] Tensor CopyOf(const Value& value, Buffer buffer, int replica) const;
  void Gather(StepResult& result) const;
  void Put(std::string_view from, int first, StepResult& result) const;

  const CompiledProgram& program_;
  const StepMemory& memory_;
  const std::vector<StringArena> constant_strings_;
  std::shared_ptr<Strings> strings_;  // of the step that runs
};

}  // namespace tpuest
