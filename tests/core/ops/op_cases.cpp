#include "tests/core/ops/op_cases.h"

#include <cmath>

namespace tpuest {

std::string NameOf(const OpCase& op_case) {
  return op_case.claim.empty() ? op_case.op : op_case.op + ": " + op_case.claim;
}

Tensor Bools(Shape shape, const std::vector<int>& values) {
  Tensor tensor(DType::kBool, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) tensor.data<bool>()[i] = values[i] != 0;
  return tensor;
}

Tensor Wave(Shape shape, float scale, float offset) {
  Tensor tensor(DType::kFloat, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = offset + scale * std::sin(1.7F * static_cast<float>(i) + 0.3F);
  }
  return tensor;
}

std::vector<OpCase> AllOpCases() {
  std::vector<OpCase> all;
  for (const auto cases :
       {UnaryCases,     BinaryCases,     ArrayCases,    SliceCases,    GatherCases, ReductionCases,
        RandomCases,    StateCases,      TrainingCases, AdaptiveCases, StringCases, ParsingCases,
        TableCases,     ActivationCases, SoftmaxCases,  MatMulCases,   ConvCases,   PoolCases,
        BatchNormCases, ImageCases,      SparseCases,   SequenceCases}) {
    for (OpCase& op_case : cases()) all.push_back(std::move(op_case));
  }
  return all;
}

}  // namespace tpuest
