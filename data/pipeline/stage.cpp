#include "data/pipeline/stage.h"

#include <algorithm>
#include <utility>

namespace tpuest {
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
  // A dataset that has not ended.
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
  std::vector<double> left_;  // the weights of those that have not ended, 0 for others
  uint64_t draws_ = 0;
  uint64_t pass_ = 0;
  bool has_some_ = true;
};

// As TensorFlow's InterleaveDataset goes round: a place whose range has ended is passed by once,
// and gets the next range when its turn comes again.
class Interleave final : public Stage {
 public:
  Interleave(std::vector<int64_t> starts, int64_t cycle, int64_t block)
      : starts_(std::move(starts)), block_(block) {
    const auto ranges = static_cast<int64_t>(starts_.size()) - 1;
    // More places than ranges would never be filled.
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

}  // namespace

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

}  // namespace tpuest
