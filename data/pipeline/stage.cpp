#include "data/pipeline/stage.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace tpuest::data {
namespace {

class Records final : public Stage {
 public:
  Records(int64_t first, int64_t size) : first_(first), size_(size) {}
  std::optional<Handle> Next() override {
    if (next_ == size_) return std::nullopt;
    return Handle{first_ + next_++, pass_};
  }
  void Begin() override {
    ++pass_;
    next_ = 0;
  }

 private:
  int64_t first_;
  int64_t size_;
  int64_t next_ = 0;
  int64_t pass_ = 0;
};

class Concatenate final : public Stage {
 public:
  explicit Concatenate(StageList datasets) : datasets_(std::move(datasets)) {}
  std::optional<Handle> Next() override {
    for (; at_ < datasets_.size(); ++at_) {
      if (const std::optional<Handle> handle = datasets_[at_]->Next()) return handle;
    }
    return std::nullopt;
  }
  void Begin() override {
    for (const auto& dataset : datasets_) dataset->Begin();
    at_ = 0;
  }

 private:
  StageList datasets_;
  size_t at_ = 0;
};

class Sample final : public Stage {
 public:
  Sample(StageList datasets, SampleWeights weights)
      : datasets_(std::move(datasets)), weights_(std::move(weights)) {
    Reset();
  }
  std::optional<Handle> Next() override {
    while (has_some_) {
      const size_t drawn = Draw();
      if (const std::optional<Handle> handle = datasets_[drawn]->Next()) return handle;
      left_[drawn] = 0;
      has_some_ = !weights_.stops_on_empty && Sum() > 0;
    }
    return std::nullopt;
  }
  void Begin() override {
    for (const auto& dataset : datasets_) dataset->Begin();
    ++pass_;
    Reset();
  }

 private:
  void Reset() {
    left_ = weights_.weights;
    draws_ = 0;
    has_some_ = true;
  }
  [[nodiscard]] double Sum() const {
    double sum = 0;
    for (const double weight : left_) sum += weight;
    return sum;
  }
  // Draws a dataset that has not ended.
  size_t Draw() {
    const uint64_t pass = weights_.rerandomizes ? pass_ : 0;
    const std::array<uint32_t, 4> words = Philox(weights_.key, pass, draws_++);
    constexpr double kUnit = 1.0 / 4294967296.0;
    double point = (static_cast<double>(words[0]) + static_cast<double>(words[1]) * kUnit) * kUnit;
    point *= Sum();
    size_t last = 0;
    for (size_t i = 0; i < left_.size(); ++i) {
      if (left_[i] == 0) continue;
      last = i;
      if (point < left_[i]) break;
      point -= left_[i];
    }
    return last;
  }

  StageList datasets_;
  SampleWeights weights_;
  std::vector<double> left_;  // the weights of datasets that have not ended, otherwise 0
  uint64_t draws_ = 0;
  uint64_t pass_ = 0;
  bool has_some_ = true;
};

// As TensorFlow's InterleaveDataset: when a range has ended, its slot is skipped once and gets the
// next range in its next turn.
class Interleave final : public Stage {
 public:
  Interleave(std::vector<int64_t> starts, int64_t cycle, int64_t block)
      : starts_(std::move(starts)), block_(block) {
    const auto ranges = static_cast<int64_t>(starts_.size()) - 1;
    // More slots than ranges would never be filled.
    places_.resize(
        static_cast<size_t>(std::clamp<int64_t>(cycle, 1, std::max<int64_t>(ranges, 1))));
  }
  std::optional<Handle> Next() override {
    while (next_range_ + 1 < starts_.size() || open_ > 0) {
      Place& place = places_[turn_];
      if (!place.is_open) {
        if (next_range_ + 1 == starts_.size()) {
          Turn();
          continue;
        }
        place = {starts_[next_range_], starts_[next_range_ + 1], true};
        ++next_range_;
        ++open_;
      }
      if (place.next < place.end) {
        const Handle handle{place.next++, pass_};
        if (++given_ == block_) Turn();
        return handle;
      }
      place.is_open = false;
      --open_;
      Turn();
    }
    return std::nullopt;
  }
  void Begin() override {
    ++pass_;
    for (Place& place : places_) place = {};
    turn_ = 0;
    given_ = 0;
    next_range_ = 0;
    open_ = 0;
  }

 private:
  struct Place {
    int64_t next = 0;
    int64_t end = 0;
    bool is_open = false;
  };
  void Turn() {
    given_ = 0;
    turn_ = (turn_ + 1) % places_.size();
  }

  std::vector<int64_t> starts_;
  int64_t block_;
  std::vector<Place> places_;
  size_t turn_ = 0;
  int64_t given_ = 0;
  size_t next_range_ = 0;
  int64_t open_ = 0;
  int64_t pass_ = 0;
};

// As TensorFlow's WindowDataset: keeps the records that the next window shares with this one, and
// skips the records between two windows.
class Window final : public GroupStage {
 public:
  Window(std::unique_ptr<Stage> before, const WindowSize& window)
      : before_(std::move(before)), window_(window) {}
  std::optional<Group> Next() override {
    while (!has_ended_ && std::ssize(buffer_) < Span()) {
      const std::optional<Handle> handle = before_->Next();
      if (!handle) {
        has_ended_ = true;
      } else if (to_skip_ > 0) {
        --to_skip_;
      } else {
        buffer_.push_back(*handle);
      }
    }
    if (buffer_.empty() || (window_.drops_remainder && std::ssize(buffer_) < Span())) {
      return std::nullopt;
    }
    Group group;
    for (int64_t i = 0; i < window_.size && i * window_.stride < std::ssize(buffer_); ++i) {
      group.push_back(buffer_[static_cast<size_t>(i * window_.stride)]);
    }
    Shift();
    return group;
  }
  void Begin() override {
    before_->Begin();
    buffer_.clear();
    to_skip_ = 0;
    has_ended_ = false;
  }

 private:
  // The number of records from a window's first to its last.
  [[nodiscard]] int64_t Span() const { return (window_.size - 1) * window_.stride + 1; }
  void Shift() {
    const auto gone = std::min<int64_t>(window_.shift, std::ssize(buffer_));
    buffer_.erase(buffer_.begin(), buffer_.begin() + gone);
    if (!has_ended_) to_skip_ = window_.shift - gone;
  }

  std::unique_ptr<Stage> before_;
  WindowSize window_;
  std::deque<Handle> buffer_;
  int64_t to_skip_ = 0;
  bool has_ended_ = false;
};

class Bucket final : public GroupStage {
 public:
  Bucket(std::unique_ptr<Stage> before, Buckets buckets)
      : before_(std::move(before)), buckets_(std::move(buckets)) {
    Reset();
  }
  std::optional<Group> Next() override {
    while (!has_ended_) {
      const std::optional<Handle> handle = before_->Next();
      if (!handle) {
        has_ended_ = true;
        break;
      }
      const size_t bucket = buckets_.Of((*buckets_.lengths)[static_cast<size_t>(handle->record)]);
      groups_[bucket].push_back(*handle);
      if (std::ssize(groups_[bucket]) == buckets_.batch_sizes[bucket]) {
        return std::exchange(groups_[bucket], {});
      }
    }
    if (buckets_.drops_remainder) return std::nullopt;
    for (Group& group : groups_) {
      if (!group.empty()) return std::exchange(group, {});
    }
    return std::nullopt;
  }
  void Begin() override {
    before_->Begin();
    Reset();
  }

 private:
  void Reset() {
    groups_.assign(buckets_.batch_sizes.size(), {});
    has_ended_ = false;
  }

  std::unique_ptr<Stage> before_;
  Buckets buckets_;
  std::vector<Group> groups_;  // incomplete batches by bucket
  bool has_ended_ = false;
};

}  // namespace

size_t Buckets::Of(int64_t length) const {
  return static_cast<size_t>(std::upper_bound(boundaries.begin(), boundaries.end(), length) -
                             boundaries.begin());
}

std::unique_ptr<GroupStage> WindowStage(std::unique_ptr<Stage> before, const WindowSize& window) {
  return std::make_unique<Window>(std::move(before), window);
}

std::unique_ptr<GroupStage> BucketStage(std::unique_ptr<Stage> before, const Buckets& buckets) {
  return std::make_unique<Bucket>(std::move(before), buckets);
}

std::unique_ptr<Stage> RecordsStage(int64_t first, int64_t size) {
  return std::make_unique<Records>(first, size);
}

std::unique_ptr<Stage> ConcatenateStage(StageList datasets) {
  return std::make_unique<Concatenate>(std::move(datasets));
}

std::unique_ptr<Stage> SampleStage(StageList datasets, const SampleWeights& weights) {
  return std::make_unique<Sample>(std::move(datasets), weights);
}

std::unique_ptr<Stage> InterleaveStage(std::vector<int64_t> starts, int64_t cycle, int64_t block) {
  return std::make_unique<Interleave>(std::move(starts), cycle, block);
}

}  // namespace tpuest::data
