#pragma once
// Samplers choose the records of the next batch: epoch after epoch, in the order of each. See
// sampler.cpp.

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
  bool reshuffle = true;  // a new order in each epoch
  int64_t repeat = 1;     // epochs; -1: for ever
};

// The records of one batch. The object is refilled, so its memory is reused.
struct Drawn {
  int64_t rows = 0;
  StreamPosition after;
  // For an indexed source: each row's position in the epoch's order before Locate(), and its index
  // in the source afterwards (kWindow and kSource draw the index directly).
  std::vector<int64_t> records;
  // For a streamed source: the records' concatenated bytes, the end of each, and its origin.
  std::string bytes;
  std::vector<size_t> ends;
  std::vector<Provenance> from;
  // For windows, which are rows of several records: the number of records that belong to each
  // window.
  std::vector<int64_t> window_sizes;
  int64_t list_length = 0;  // length to which lists are padded; 0: the columns' own padding
  // The epochs that the rows' records belong to, in order.
  struct Stretch {
    int64_t epoch = 0;
    int64_t rows = 0;
  };
  std::vector<Stretch> stretches;

  void Clear();
};

// Draws records in order. One thread at a time, except Locate.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // Makes the next Draw begin at `position`. Throws kData for a position beyond the end of its
  // epoch: the data have changed since it was stored.
  virtual void Seek(const StreamPosition& position) = 0;
  // The work that Seek repeats, in the words of TellsSeekWay. Any thread.
  [[nodiscard]] virtual std::string_view seek_way() const { return ""; }
  // Draws up to `rows` records; fewer only at the end of the last epoch.
  virtual void Draw(int64_t rows, Drawn& drawn) = 0;
  // Whether Draw itself determines the number of rows of a batch.
  [[nodiscard]] virtual bool cuts_batches() const { return false; }
  // The part of the work that any thread may do at any time: it does not read state that Draw and
  // Seek change.
  virtual void Locate(Drawn& drawn) const { (void)drawn; }
};

// A sampler of the records 0..size-1 of an indexed source; size > 0.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(int64_t size, const SampleOptions& options);
// A sampler of a source that is read front to back; only the sampler reads it from now on. Order
// kPermutation is not possible. Draw throws kData for a source without records, and the source's
// errors.
[[nodiscard]] std::unique_ptr<Sampler> MakeSampler(std::unique_ptr<StreamedSource> source,
                                                   const SampleOptions& options);

// A sampler of live input (StreamedSource::IsThere), which is read once: a batch holds the rows
// that arrive within `wait_ms` of its first row, at most the requested number.
[[nodiscard]] std::unique_ptr<Sampler> MakeLiveSampler(std::unique_ptr<StreamedSource> source,
                                                       int wait_ms);

}  // namespace tpuest::data
