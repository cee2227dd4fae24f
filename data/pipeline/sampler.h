#pragma once
// Samplers choose the records of the next batch: the order of each epoch, and the epochs one after
// the other. See sampler.cpp.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/estimator/contract/contract.h"
#include "data/source.h"

namespace tpuest::data {

struct SampleOptions {
  enum class Order { kSource, kPermutation, kWindow };
  Order order = Order::kSource;
  int64_t window = 0;  // records, for kWindow
  uint64_t seed = 0;
  bool reshuffle = true;  // another order in each epoch
  int64_t repeat = 1;     // epochs; -1: for ever
};

// The records of one batch. It is kept and filled again, so that its memory is.
struct Drawn {
  int64_t rows = 0;
  StreamPosition after;
  // Each row's record, for an indexed source: its place in the epoch's order until Locate() ran,
  // its index in the source from then on (kWindow and kSource draw the index at once).
  std::vector<int64_t> records;
  // The records' bytes end to end, where each ends, and where it is from, for a streamed source.
  std::string bytes;
  std::vector<size_t> ends;
  std::vector<Provenance> from;
  // Of windows, which are rows of so many records each: how many of them are the window's own.
  std::vector<int64_t> window_sizes;
  int64_t list_length = 0;  // that lists are filled up to; 0: what their columns say
  // The epochs that the rows' records belong to, in order.
  struct Stretch {
    int64_t epoch = 0;
    int64_t rows = 0;
  };
  std::vector<Stretch> stretches;

  void Clear();
};

// The order of the records. One thread at a time, but for Locate.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // The next Draw begins here. Throws Error kData for a position beyond the end of its epoch: the
  // data are not those that it was stored with.
  virtual void Seek(const StreamPosition& position) = 0;
  // What Seek does again, as TellsSeekWay says it. Any thread.
  [[nodiscard]] virtual std::string_view seek_way() const { return ""; }
  // Up to `rows` records; fewer only at the end of the last epoch.
  virtual void Draw(int64_t rows, Drawn& drawn) = 0;
  // Whether Draw says by itself how many rows a batch has.
  [[nodiscard]] virtual bool cuts_batches() const { return false; }
  // The part of the work that any thread may do at any time: it reads nothing that Draw and Seek
  // change.
  virtual void Locate(Drawn& drawn) const { (void)drawn; }
};

// Over the records 0..size-1 of an indexed source; size > 0.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(int64_t size, const SampleOptions& options);
// Over a source that is read front to back, which the sampler alone reads from now on. Order
// kPermutation is not possible. Draw throws Error kData for a source without records and for what
// the source throws.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(std::unique_ptr<StreamedSource> source,
                                                   const SampleOptions& options);

// Over live input (StreamedSource::IsThere), which is read once: a batch is of the rows that come
// within `wait_ms` of its first one, at most so many as are asked for.
[[nodiscard]] std::unique_ptr<Sampler> MakeLiveSampler(std::unique_ptr<StreamedSource> source,
                                                       int wait_ms);

}  // namespace tpuest::data
