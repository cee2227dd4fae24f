#include "data/pipeline/sampler.h"

#include <algorithm>

#include "data/pipeline/window_shuffle.h"

namespace tpuest {
namespace {

// Names of the random numbers' consumers ("shuffle", "window" in ASCII).
constexpr uint64_t kPermutationName = 0x73687566666c6500ULL;
constexpr uint64_t kWindowName = 0x77696e646f770000ULL;

[[noreturn]] void PastTheEnd(const StreamPosition& position, int64_t size) {
  throw Error(Code::kData,
              fmt::format("the position to go on from is record {} of an epoch, which has {}",
                          position.records, size),
              "the data are not those that the position was stored with");
}

// Counts epochs; what the order of an epoch is, is the derived class's.
class EpochCounter : public Sampler {
 public:
  explicit EpochCounter(const SampleOptions& options) : options_(options) {}

 protected:
  [[nodiscard]] bool AtEnd() const { return options_.repeat >= 0 && at_.epoch >= options_.repeat; }
  // The epoch whose order this one has.
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
      for (int64_t i = 0; i < position.records; ++i) (void)FromWindow();
    }
    at_.records = position.records;
    EndEpochIfDone();
  }

  void Draw(int64_t rows, Drawn& drawn) override {
    drawn.Clear();
    while (drawn.rows < rows && !AtEnd()) {
      const int64_t stretch = std::min(rows - drawn.rows, size_ - at_.records);
      for (int64_t i = 0; i < stretch; ++i) {
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
  WindowShuffle window_;
  int64_t next_ = 0;  // the window's input
};

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
    while (at_.records < position.records) {
      skipped_.Clear();
      const int64_t epoch = at_.epoch;
      const int64_t before = at_.records;
      One(skipped_);
      if (at_.epoch == epoch) continue;
      if (before + 1 < position.records) PastTheEnd(position, before + 1);
      return;
    }
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

  // Appends the next record and counts it; the last one of an epoch begins the next.
  void One(Drawn& drawn) {
    if (!begun_) BeginEpoch();
    if (options_.order == SampleOptions::Order::kWindow) {
      const auto slot = static_cast<size_t>(*window_.Next([&] { return Hold(); }));
      Append(held_[slot].bytes, held_[slot].from, drawn);
      free_.push_back(static_cast<int64_t>(slot));
      --holding_;
    } else {
      Append(next_, next_from_, drawn);
      Advance();
    }
    ++at_.records;
    if (more_ || holding_ > 0) return;
    at_ = {at_.epoch + 1, 0};
    begun_ = false;
  }
  static void Append(std::string_view bytes, Provenance from, Drawn& drawn) {
    drawn.bytes.append(bytes);
    drawn.ends.push_back(drawn.bytes.size());
    drawn.from.push_back(from);
    ++drawn.rows;
  }

  // Looks one record ahead, so that the end of an epoch is known with its last record.
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
    for (size_t i = held_.size(); i-- > 0;) free_.push_back(static_cast<int64_t>(i));
    holding_ = 0;
  }
  // Puts the next record in a slot for the window.
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
  WindowShuffle window_;
  bool begun_ = false;  // the epoch
  bool more_ = false;   // next_ is a record
  std::string_view next_;
  Provenance next_from_;
  std::vector<Held> held_;     // the window's records, by slot
  std::vector<int64_t> free_;  // slots
  int64_t holding_ = 0;
  Drawn skipped_;
};

}  // namespace

void Drawn::Clear() {
  rows = 0;
  records.clear();
  bytes.clear();
  ends.clear();
  from.clear();
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

}  // namespace tpuest
