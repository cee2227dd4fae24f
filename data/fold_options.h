#pragma once
// The job's tpuest.fold: which part of k-fold cross-validation a run trains on and evaluates on.

#include <cstdint>

#include "core/base/visit.h"

namespace tpuest::data {

struct FoldOptions {
  int64_t index = 1;
  int64_t count = 2;

  template <class V>
  void Visit(V& v) {
    v("index", index, {.help = "fold to evaluate on, from 1", .required = true, .tpuest = true});
    v("count", count,
      {.help = "number of folds; every N-th record belongs to the same fold",
       .required = true,
       .tpuest = true});
  }
};

// The part of its records that an input uses. Fold `index` (from 1) of `count` holds every record i
// with i mod count == index - 1.
struct FoldPart {
  FoldOptions fold;
  bool held_out = false;  // true: the fold, false: all but the fold
};

}  // namespace tpuest::data
