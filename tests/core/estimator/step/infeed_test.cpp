#include "core/estimator/step/infeed.h"

#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

std::unique_ptr<BatchStream> Stream(const RangeOptions& options) {
  return RangeInput(options)({.batch_size = 2});
}

// Takes all batches, one at a time, and returns the first index of each.
std::vector<int64_t> TakeAll(Infeed& infeed) {
  std::vector<int64_t> firsts;
  while (true) {
    const std::vector<InfeedItem> items = infeed.Take(1);
    if (items.empty()) return firsts;
    firsts.push_back(items[0].batch.features[0].data<int64_t>()[0]);
  }
}

// Fails after its first batch.
class BrokenStream final : public BatchStream {
 public:
  [[nodiscard]] const StreamSpec& spec() const override { return good_->spec(); }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return std::nullopt; }
  [[nodiscard]] bool endless() const override { return true; }
  void Seek(const StreamPosition& /*position*/) override {}
  [[nodiscard]] const std::vector<std::string>& files() const override { return good_->files(); }
  [[nodiscard]] std::optional<Batch> Next() override {
    if (++calls_ > 1) throw Error(Code::kData, "train.tfrecord: record 2 is damaged");
    return good_->Next();
  }

 private:
  std::unique_ptr<BatchStream> good_ = Stream({});
  int calls_ = 0;
};

}  // namespace

TEST_CASE("an infeed returns every batch in order and then ends") {
  Home home;
  const auto stream = Stream({.count = 7, .repeat = 1});
  Infeed infeed({.stream = *stream, .clock = home.clock, .stop = home.stop});
  CHECK(!infeed.AtEnd());
  CHECK(TakeAll(infeed) == std::vector<int64_t>{0, 2, 4, 6});
  CHECK(infeed.AtEnd());
}

TEST_CASE("a limit counts batches, and a batch that was already read comes first") {
  Home home;
  const auto stream = Stream({.count = 100});
  InfeedArgs args{.stream = *stream, .clock = home.clock, .stop = home.stop};
  args.first = stream->Next();
  args.limit = 3;
  Infeed infeed(std::move(args));
  CHECK(TakeAll(infeed) == std::vector<int64_t>{0, 2, 4});
}

TEST_CASE("an endless stream is read ahead only up to a limit, and the rest is released") {
  Home home;
  const auto stream = Stream({.count = 10});
  Infeed infeed({.stream = *stream, .clock = home.clock, .stop = home.stop});
  CHECK(infeed.Take(1).size() == 1);
}

TEST_CASE("errors of the reading thread are thrown after the batches before them") {
  Home home;
  BrokenStream stream;
  Infeed infeed({.stream = stream, .clock = home.clock, .stop = home.stop});
  CHECK(infeed.Take(1).size() == 1);
  CHECK(!infeed.AtEnd());
  CHECK(ErrorOf([&] { (void)infeed.Take(1); }).message() == "train.tfrecord: record 2 is damaged");
}

}  // namespace tpuest
