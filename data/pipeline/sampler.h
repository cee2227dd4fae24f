#pragma once
// Which records make up the next batch: the order of each epoch, and the epochs one after the
// other.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/estimator/contract/contract.h"
#include "data/source.h"

namespace tpuest {

struct SampleOptions {
  enum class Order { kSource, kPermutation, kWindow };
  Order order = Order::kSource;
  int64_t window = 0;  // records, for kWindow
  uint64_t seed = 0;
  bool reshuffle = true;  // another order in each epoch
  int64_t repeat = 1;     // epochs; -1: for ever
};

// The records of one batch. Kept and filled again, so that its memory is.
struct Drawn {
  int64_t rows = 0;
  StreamPosition after;
  // From an indexed source: each row's record.
  std::vector<int64_t> records;
  // From a streamed source: the records' bytes end to end, where each ends, where it is from.
  std::string bytes;
  std::vector<size_t> ends;
  std::vector<Provenance> from;
  // Rows that Locate() still has to look up, as (epoch, how many).
  struct Stretch {
    int64_t epoch = 0;
    int64_t rows = 0;
  };
  std::vector<Stretch> stretches;

  void Clear();
};

// Used by one thread at a time, but for Locate.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void Seek(const StreamPosition& position) = 0;
  // Up to `rows` records; fewer only at the end of the last epoch.
  virtual void Draw(int64_t rows, Drawn& drawn) = 0;
  // The part of the work that any thread may do.
  virtual void Locate(Drawn& drawn) const { (void)drawn; }
};

[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(int64_t size, const SampleOptions& options);
// Order kPermutation is not possible. The sampler alone reads the source from now on.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(std::unique_ptr<StreamedSource> source,
                                                   const SampleOptions& options);

}  // namespace tpuest
