#pragma once
// The job's tpuest.fold: the part of k-fold cross-validation that a run trains and evaluates on.

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

// The part of its records that an input uses. Fold `index` (from 1) of `count` contains every
// record i with i mod count == index - 1.
struct FoldPart {
  FoldOptions fold;
  bool held_out = false;  // true: only the fold; false: all records but the fold
};

}  // namespace tpuest::data
