#pragma once
// Runs a spec's host_call on what steps left.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/estimator/step/outfed_graph.h"
#include "core/io/events/event_writer.h"

namespace tpuest {

// Takes the scalars of one call, for an event of this step.
using SummarySink = std::function<void(int64_t step, const std::vector<SummaryValue>& values)>;

class HostCallRunner {
 public:
  // Backend, registry and log outlive it.
  HostCallRunner(Backend& backend, const OpRegistry& registry, Log& log, int threads,
                 SummarySink sink)
      : backend_(backend),
        registry_(registry),
        log_(log),
        threads_(threads),
        sink_(std::move(sink)) {}

  // Calls it on its tensors, in the order of their names, every row of the global batch, of a step
  // that began with this global step. The fn is called once for tensors of the same names; its
  // variables keep their values from call to call. Error kUsage for scalars that are none.
  void Run(const HostCall& call, std::span<const Tensor> tensors, int64_t global_step);

 private:
  struct Built {
    OutfedGraph on;
    HostCallOps ops;
    std::map<std::vector<int64_t>, std::unique_ptr<Program>> programs;  // by rows of each input
  };
  Built& BuiltFor(const HostCall& call);
  Program& ProgramFor(Built& built, std::span<const Tensor> tensors);

  Backend& backend_;
  const OpRegistry& registry_;
  Log& log_;
  const int threads_;
  const SummarySink sink_;
  VariableStore variables_;
  std::map<std::vector<std::string>, Built> built_;  // by the tensors' names
};

// Error kUsage, in TensorFlow's words, for a tensor without the batch dimension, which the device
// cannot hand out.
void CheckOutfedTensors(const std::map<std::string, Value>& tensors);

}  // namespace tpuest
