// A sampler determines the next record: the order of each epoch, and the sequence of epochs.
//
// Input: the number of records (or a source that is read from start to end), the requested order,
// and a position (finished epochs, records used of the current epoch). Output: the records of the
// next batch and the position after it, which the checkpoint stores.
//
// Invariant: record = order(seed, epoch)[index], a pure function. Threads, batch size, clock and
// earlier draws do not matter, so Seek(after) and then Draw give the same as only Draw. This makes
// a resumed run exact. A position is never at the end of an epoch, but at the start of the next: {e
// + 1, 0}, not {e, size}. Batches continue across the ends of epochs.
//
// Five records, shuffled, batches of two, repeat 2:
//
//     epoch           0                 1
//     order           3  0  4  1  2     2  4  0  3  1
//     batch          [3  0][4  1][2     2][4  0][3  1]
//     after          {0,2} {0,4}        {1,1}{1,3}{2,0}     Seek({1,1}): the next batch is [4 0]
//
//   order         how a record is found; the cost of Seek
//   kSource       the index itself; nothing
//   kPermutation  Permute(seed, epoch, index, size), for each index by itself: Draw only counts,
//   Locate
//                 computes on the thread that builds the batch; nothing
//   kWindow       a buffer that depends on all earlier draws, so Seek draws again from the start of
//                 the epoch, using indices, without reading a record
//   a stream      as kSource or kWindow, but Seek reads the source again up to the position

#include "data/pipeline/sampler.h"

#include <algorithm>
#include <chrono>

#include "data/pipeline/window_shuffle.h"

namespace tpuest::data {
namespace {

// The names of the consumers of random numbers ("shuffle", "window" in ASCII). They determine the
// order: another name would change the order for every existing checkpoint.
constexpr uint64_t kPermutationName = 0x73687566666c6500ULL;
constexpr uint64_t kWindowName = 0x77696e646f770000ULL;

[[noreturn]] void PastTheEnd(const StreamPosition& position, int64_t size,
                             const std::string& name = "") {
  throw Error(
      Code::kData,
      fmt::format("{}the checkpoint's input position is record {} of an epoch, which has {}", name,
                  position.records, size),
      "the data changed since the checkpoint was saved");
}

// Counts epochs; a derived class gives the order within an epoch.
class EpochCounter : public Sampler {
 public:
  explicit EpochCounter(const SampleOptions& options) : options_(options) {}

 protected:
  [[nodiscard]] bool AtEnd() const { return options_.repeat >= 0 && at_.epoch >= options_.repeat; }
  // The epoch that determines the order of `epoch`: the first epoch, unless the job reshuffles
  // each.
  [[nodiscard]] int64_t OrderOf(int64_t epoch) const { return options_.reshuffle ? epoch : 0; }

  SampleOptions options_;
  StreamPosition at_;
};

class IndexedSampler final : public EpochCounter {
 public:
  IndexedSampler(int64_t size, const SampleOptions& options)
      : EpochCounter(options), size_(size), window_(options.window, {options.seed, kWindowName}) {
    BeginEpoch();
  }

  void Seek(const StreamPosition& position) override {
    if (position.records > size_) PastTheEnd(position, size_);
    at_ = {position.epoch, 0};
    BeginEpoch();
    if (options_.order == SampleOptions::Order::kWindow) {
      // The window's state is not stored, because a checkpoint would grow with it.
      for (int64_t i = 0; i < position.records; ++i) (void)FromWindow();
    }
    at_.records = position.records;
    EndEpochIfDone();
  }

  [[nodiscard]] std::string_view seek_way() const override {
    return options_.order == SampleOptions::Order::kWindow
               ? "its shuffle buffer is refilled with record numbers only"
               : "";
  }

  void Draw(int64_t rows, Drawn& drawn) override {
    drawn.Clear();
    while (drawn.rows < rows && !AtEnd()) {
      const int64_t stretch = std::min(rows - drawn.rows, size_ - at_.records);
      for (int64_t i = 0; i < stretch; ++i) {
        // Positions in the epoch for kPermutation (Locate maps them to records), records otherwise.
        drawn.records.push_back(options_.order == SampleOptions::Order::kWindow ? FromWindow()
                                                                                : at_.records + i);
      }
      drawn.stretches.push_back({at_.epoch, stretch});
      drawn.rows += stretch;
      at_.records += stretch;
      EndEpochIfDone();
    }
    drawn.after = at_;
  }

  void Locate(Drawn& drawn) const override {
    if (options_.order != SampleOptions::Order::kPermutation) return;
    auto record = drawn.records.begin();
    for (const Drawn::Stretch& stretch : drawn.stretches) {
      const auto epoch = static_cast<uint64_t>(OrderOf(stretch.epoch));
      for (int64_t i = 0; i < stretch.rows; ++i, ++record) {
        *record = static_cast<int64_t>(Permute({options_.seed, kPermutationName}, epoch,
                                               static_cast<uint64_t>(*record),
                                               static_cast<uint64_t>(size_)));
      }
    }
  }

 private:
  void BeginEpoch() {
    next_ = 0;
    window_.Begin(OrderOf(at_.epoch));
  }
  // Keeps the invariant that a position is never at an epoch's end.
  void EndEpochIfDone() {
    if (at_.records < size_) return;
    at_ = {at_.epoch + 1, 0};
    BeginEpoch();
  }
  int64_t FromWindow() {
    return *window_.Next([&]() -> std::optional<int64_t> {
      if (next_ == size_) return std::nullopt;
      return next_++;
    });
  }

  int64_t size_;
  WindowShuffle<int64_t> window_;
  int64_t next_ = 0;  // next record to enter the window
};

// Reads records into the batch (kSource), or through a window that stores their bytes (kWindow).
// Reads one record ahead: the end of an epoch must be known with its last record, because the
// position after that is the start of the next epoch.
class StreamSampler final : public EpochCounter {
 public:
  StreamSampler(std::unique_ptr<StreamedSource> source, const SampleOptions& options)
      : EpochCounter(options),
        source_(std::move(source)),
        window_(options.window, {options.seed, kWindowName}) {}

  void Seek(const StreamPosition& position) override {
    at_ = {position.epoch, 0};
    begun_ = false;
    skipped_.Clear();
    // Reads up to the position and drops the records; earlier epochs need not be read, because each
    // begins with a rewind. The epoch may end here only if the position is its end.
    while (at_.records < position.records) {
      skipped_.Clear();
      const int64_t epoch = at_.epoch;
      const int64_t before = at_.records;
      One(skipped_);
      if (at_.epoch == epoch) continue;
      if (before + 1 < position.records)
        PastTheEnd(position, before + 1, source_->files().front() + ": ");
      return;
    }
  }

  [[nodiscard]] std::string_view seek_way() const override {
    return "its records are read again up to that position";
  }

  void Draw(int64_t rows, Drawn& drawn) override {
    drawn.Clear();
    while (drawn.rows < rows && !AtEnd()) One(drawn);
    drawn.after = at_;
  }

 private:
  struct Held {
    std::string bytes;
    Provenance from;
  };

  // Appends the next record and counts it; the last record of an epoch begins the next epoch.
  void One(Drawn& drawn) {
    if (!begun_) BeginEpoch();
    if (options_.order == SampleOptions::Order::kWindow) {
      // The drawn slot is free at once, because Append copied its bytes.
      const auto slot = static_cast<size_t>(*window_.Next([&] { return Hold(); }));
      Append(held_[slot].bytes, held_[slot].from, drawn);
      free_.push_back(static_cast<int64_t>(slot));
      --holding_;
    } else {
      Append(next_, next_from_, drawn);
      Advance();
    }
    ++at_.records;
    // The epoch ends when the source has ended and the window is empty.
    if (more_ || holding_ > 0) return;
    at_ = {at_.epoch + 1, 0};
    begun_ = false;
  }
  void Append(std::string_view bytes, Provenance from, Drawn& drawn) const {
    if (drawn.stretches.empty() || drawn.stretches.back().epoch != at_.epoch) {
      drawn.stretches.push_back({at_.epoch, 0});
    }
    ++drawn.stretches.back().rows;
    drawn.bytes.append(bytes);
    drawn.ends.push_back(drawn.bytes.size());
    drawn.from.push_back(from);
    ++drawn.rows;
  }

  // Reads one record ahead.
  void Advance() { more_ = source_->Next(next_, next_from_); }
  void BeginEpoch() {
    begun_ = true;
    source_->Rewind();
    Advance();
    if (!more_) {
      throw Error(Code::kData, fmt::format("{}: no records", source_->files().front()));
    }
    window_.Begin(OrderOf(at_.epoch));
    free_.clear();
    // All slots are free again; the lowest is last, because slots are taken from the end.
    for (size_t i = held_.size(); i-- > 0;) free_.push_back(static_cast<int64_t>(i));
    holding_ = 0;
  }
  // Stores the next record in a slot and returns the slot's number for the window; nullopt at the
  // end. There are never more slots than the window's size, and their strings keep their memory.
  std::optional<int64_t> Hold() {
    if (!more_) return std::nullopt;
    if (free_.empty()) {
      free_.push_back(static_cast<int64_t>(held_.size()));
      held_.emplace_back();
    }
    const int64_t slot = free_.back();
    free_.pop_back();
    held_[static_cast<size_t>(slot)].bytes.assign(next_);
    held_[static_cast<size_t>(slot)].from = next_from_;
    ++holding_;
    Advance();
    return slot;
  }

  std::unique_ptr<StreamedSource> source_;
  WindowShuffle<int64_t> window_;
  bool begun_ = false;  // whether the epoch of at_ has begun
  bool more_ = false;   // whether next_ contains a record that was read ahead
  std::string_view next_;
  Provenance next_from_;
  std::vector<Held> held_;     // the window's records, by slot
  std::vector<int64_t> free_;  // empty slots
  int64_t holding_ = 0;
  Drawn skipped_;
};

class LiveSampler final : public Sampler {
 public:
  LiveSampler(std::unique_ptr<StreamedSource> source, int wait_ms)
      : source_(std::move(source)), wait_ms_(wait_ms) {}

  void Seek(const StreamPosition& position) override {
    Check(position == StreamPosition{}, "live input is read once");
  }
  void Draw(int64_t rows, Drawn& drawn) override {
    using Clock = std::chrono::steady_clock;
    drawn.Clear();
    Clock::time_point end;
    std::string_view bytes;
    Provenance from;
    while (drawn.rows < rows && (drawn.rows == 0 || IsThereBefore(end))) {
      if (!source_->Next(bytes, from)) break;
      if (drawn.rows == 0) end = Clock::now() + std::chrono::milliseconds(wait_ms_);
      drawn.bytes.append(bytes);
      drawn.ends.push_back(drawn.bytes.size());
      drawn.from.push_back(from);
      ++drawn.rows;
    }
    drawn_ += drawn.rows;
    if (drawn_ == 0) {
      throw Error(Code::kData, fmt::format("{}: no records", source_->files().front()));
    }
    drawn.stretches = {{0, drawn.rows}};
    drawn.after = {0, drawn_};
  }
  [[nodiscard]] bool cuts_batches() const override { return true; }

 private:
  [[nodiscard]] bool IsThereBefore(std::chrono::steady_clock::time_point end) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    return source_->IsThere(static_cast<int>(std::max<int64_t>(left.count(), 0)));
  }

  std::unique_ptr<StreamedSource> source_;
  int wait_ms_;
  int64_t drawn_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> MakeLiveSampler(std::unique_ptr<StreamedSource> source, int wait_ms) {
  return std::make_unique<LiveSampler>(std::move(source), wait_ms);
}

void Drawn::Clear() {
  rows = 0;
  records.clear();
  bytes.clear();
  ends.clear();
  from.clear();
  window_sizes.clear();
  list_length = 0;
  stretches.clear();
}

std::unique_ptr<Sampler> MakeSampler(int64_t size, const SampleOptions& options) {
  Check(size > 0);
  return std::make_unique<IndexedSampler>(size, options);
}

std::unique_ptr<Sampler> MakeSampler(std::unique_ptr<StreamedSource> source,
                                     const SampleOptions& options) {
  Check(options.order != SampleOptions::Order::kPermutation);
  return std::make_unique<StreamSampler>(std::move(source), options);
}

}  // namespace tpuest::data
