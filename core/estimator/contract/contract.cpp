#include "core/estimator/contract/contract.h"

namespace tpuest {

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kEval:
      return "eval";
    case Mode::kPredict:
      return "infer";
  }
  return "";
}

}  // namespace tpuest
