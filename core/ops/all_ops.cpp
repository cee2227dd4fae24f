#include "core/ops/all_ops.h"

#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/batch_norm.h"
#include "core/ops/batch_norm_parts.h"
#include "core/ops/bias.h"
#include "core/ops/collective.h"
#include "core/ops/conv.h"
#include "core/ops/decode_image.h"
#include "core/ops/elementwise.h"
#include "core/ops/fused_batch_norm.h"
#include "core/ops/image.h"
#include "core/ops/lookup.h"
#include "core/ops/matmul.h"
#include "core/ops/parsing.h"
#include "core/ops/pool.h"
#include "core/ops/random.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "core/ops/softmax.h"
#include "core/ops/sorted_search.h"
#include "core/ops/state.h"
#include "core/ops/strings.h"
#include "core/ops/texts.h"
#include "core/ops/training.h"

namespace tpuest::ops {

std::vector<OpFamily> AllOps() {
  return {
      SourceOps(),     IdentityOps(),     ShapeOps(),          JoinOps(),          SliceOps(),
      LayoutOps(),     GatherOps(),       RankingOps(),        UnaryOps(),         BinaryOps(),
      SelectOps(),     ReductionOps(),    SegmentOps(),        RandomOps(),        StateOps(),
      TrainingOps(),   AdaptiveRowOps(),  CollectiveOps(),     StringOps(),        ConvOps(),
      PoolOps(),       MatMulOps(),       BatchMatMulOps(),    BiasOps(),          ActivationOps(),
      SoftmaxOps(),    BatchNormOps(),    BatchNormPartOps(),  ParsingOps(),       RawOps(),
      LookupOps(),     BucketOps(),       CrossOps(),          SparseOps(),        UniqueOps(),
      ImageOps(),      DecodeImageOps(),  FusedBatchNormOps(), TextOps(),          RegexOps(),
      ReplicaRowOps(), SortedSearchOps(), SparseTensorOps(),   SortedSegmentOps(), GatherNdOps(),
      WhereOps(),      StitchOps(),       CumsumOps(),         ReverseOps(),       BandOps(),
      SplitOps(),      EinsumOps()};
}

}  // namespace tpuest::ops
