#include "core/estimator/step/programs/host_call_runner.h"

namespace tpuest {
namespace {

void CheckScalars(const HostCallOps& ops) {
  for (const auto& [tag, value] : ops.scalars) {
    if (value.shape() == Shape()) continue;
    throw Error(Code::kUsage, fmt::format("host_call: the summary '{}' is {}, expected a scalar",
                                          tag, value.shape().Text()))
        .At(value.node->origin());
  }
  const bool is_step =
      !ops.step.valid() || (ops.step.shape() == Shape() && ops.step.dtype() == DType::kInt64);
  if (!is_step) {
    throw Error(Code::kUsage, fmt::format("host_call: the step is {} {}, expected int64 []",
                                          NameOf(ops.step.dtype()), ops.step.shape().Text()));
  }
}

}  // namespace

HostCallScalars HostCallRunner::Run(const HostCall& call, std::span<const Tensor> tensors,
                                    int64_t global_step) {
  if (call.tensors.empty()) return {};
  HostFn<HostCallOps>::Built& built = fn_.For(call.tensors, call.fn, CheckScalars);
  // Tensors may have different numbers of rows (one per example, one per replica), so none is cut
  // like the batch.
  HostWork work{.targets = built.ops.targets, .feeds = built.Feeds(tensors), .cut = false};
  for (const auto& [tag, value] : built.ops.scalars) work.fetches.push_back(value);
  const bool has_step = built.ops.step.valid();
  if (has_step) work.fetches.push_back(built.ops.step);
  const std::vector<Tensor> fetched = built.programs.Run(work);
  HostCallScalars scalars{.step = has_step ? *fetched.back().data<int64_t>() : global_step};
  for (const auto& [tag, value] : built.ops.scalars) {
    const Tensor& scalar = fetched[scalars.values.size()];
    scalars.values.push_back({.tag = tag, .value = static_cast<float>(scalar.AsDouble(0))});
  }
  return scalars;
}

void CheckOutfedTensors(const std::map<std::string, Value>& tensors) {
  for (const auto& [name, value] : tensors) {
    if (value.shape().rank() > 0) continue;
    throw Error(Code::kUsage,
                fmt::format("All tensors outfed from TPU should preserve batch size dimension, but "
                            "got scalar '{}'",
                            value.name()),
                "a reshape to [1] gives each replica's value a row")
        .At(value.node->origin());
  }
}

}  // namespace tpuest
