#pragma once
// Reads an export back from its files and compares its results with the live model's.

#include <string>

#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/step/estimator_context.h"

namespace tpuest {

// Runs every signature of every serving MetaGraph on args.records examples: signatures with
// `examples` get them serialized, others get the features. Floats may differ by 1e-5 of the larger
// one (or of 1); everything else must be equal. Throws Error kGate with record, signature, output
// and both values; kData for an input without examples.
VerifyResult VerifyExport(const std::string& folder, const VerifyArgs& args,
                          const SavedState& saved, uint64_t seed, EstimatorContext& context);

}  // namespace tpuest
