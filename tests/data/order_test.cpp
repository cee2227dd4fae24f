#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/random.h"
#include "data/pipeline/window_shuffle.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

std::vector<int64_t> Sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int64_t> UpTo(int64_t n) {
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST_CASE("batches come in the source's order, the last one short") {
  CHECK(Take(*Open(RangeOf(10))) == Batches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
}

TEST_CASE("drop_remainder leaves a last short batch out; training does so by default") {
  InputFnOptions options = RangeOf(10);
  options.repeat = 1;
  CHECK(Take(*Open(options, {.mode = Mode::kTrain})) == Batches{{0, 1, 2, 3}, {4, 5, 6, 7}});
  options.drop_remainder = false;
  CHECK(Take(*Open(options, {.mode = Mode::kTrain})).size() == 3);
  options.drop_remainder = true;
  CHECK(Take(*Open(options)).size() == 2);
}

TEST_CASE("batches cross the borders of epochs") {
  InputFnOptions options = RangeOf(3);
  options.repeat = 3;
  CHECK(Take(*Open(options, {.batch_size = 2})) == Batches{{0, 1}, {2, 0}, {1, 2}, {0, 1}, {2}});
}

TEST_CASE("repeat: 0 ends at once, -1 never, and training repeats for ever by default") {
  InputFnOptions options = RangeOf(3);
  CHECK(Open(options, {.mode = Mode::kTrain})->endless());
  CHECK(!Open(options)->endless());
  options.repeat = 0;
  CHECK(!Open(options)->Next().has_value());
  options.repeat = -1;
  const std::unique_ptr<BatchStream> stream = Open(options, {.batch_size = 2});
  CHECK(stream->endless());
  CHECK(stream->epoch_size() == 3);
  CHECK(Take(*stream, 4) == Batches{{0, 1}, {2, 0}, {1, 2}, {0, 1}});
}

TEST_CASE("the end stays the end") {
  const std::unique_ptr<BatchStream> stream = Open(RangeOf(3));
  CHECK(stream->Next().has_value());
  CHECK(!stream->Next().has_value());
  CHECK(!stream->Next().has_value());
}

TEST_CASE("a short last batch is padded with its first row and weighted") {
  const std::unique_ptr<BatchStream> stream = Open(RangeOf(6), {.pad_last = true});
  const std::optional<Batch> full = stream->Next();
  CHECK(full->examples == 4);
  CHECK(!full->example_weight.valid());
  const std::optional<Batch> last = stream->Next();
  CHECK(Ints(last->features[0]) == std::vector<int64_t>{4, 5, 4, 4});
  CHECK(Ints(last->example_weight) == std::vector<int64_t>{1, 1, 0, 0});
  CHECK(last->example_weight.dtype() == DType::kFloat);
  CHECK(last->examples == 2);
  CHECK(last->rows.size() == 2);
  CHECK(!stream->Next().has_value());
}

TEST_CASE("the order does not depend on the number of threads or on prefetch") {
  for (const auto& shuffle :
       {std::optional<ShuffleOptions>(), std::optional(Full()), std::optional(Window(10))}) {
    InputFnOptions options = RangeOf(101);
    options.shuffle = shuffle;
    options.repeat = 3;
    const Batches one = Take(*Open(options, {.batch_size = 7, .threads = 1}));
    CHECK(one.size() == 44);
    for (const int threads : {2, 3, 4}) {
      CHECK(Take(*Open(options, {.batch_size = 7, .threads = threads})) == one);
    }
    options.num_parallel_calls = int64_t{3};
    options.prefetch = int64_t{0};
    CHECK(Take(*Open(options, {.batch_size = 7})) == one);
  }
}

TEST_CASE("a full shuffle is the permutation of seed and epoch") {
  InputFnOptions options = RangeOf(100);
  options.shuffle = Full();
  options.repeat = 2;
  const std::vector<int64_t> all = Flat(Take(*Open(options)));
  const std::vector<int64_t> first(all.begin(), all.begin() + 100);
  const std::vector<int64_t> second(all.begin() + 100, all.end());
  CHECK(Sorted(first) == UpTo(100));
  CHECK(Sorted(second) == UpTo(100));
  CHECK(first != UpTo(100));
  CHECK(first != second);
  CHECK(Flat(Take(*Open(options, {.seed = 7}))) == all);
  CHECK(Flat(Take(*Open(options, {.seed = 8}))) != all);
  options.shuffle->seed = 7;
  CHECK(Flat(Take(*Open(options, {.seed = 8}))) == all);
}

TEST_CASE("reshuffle_each_iteration: false repeats the first epoch's order") {
  for (ShuffleOptions shuffle : {Full(), Window(10)}) {
    shuffle.reshuffle_each_iteration = false;
    InputFnOptions options = RangeOf(50);
    options.shuffle = shuffle;
    options.repeat = 2;
    const std::vector<int64_t> all = Flat(Take(*Open(options)));
    CHECK(std::equal(all.begin(), all.begin() + 50, all.begin() + 50));
  }
}

TEST_CASE("a window shuffles each epoch whole and lets no record out too early") {
  InputFnOptions options = RangeOf(200);
  options.shuffle = Window(16);
  options.repeat = 2;
  const std::vector<int64_t> all = Flat(Take(*Open(options)));
  const std::vector<int64_t> first(all.begin(), all.begin() + 200);
  const std::vector<int64_t> second(all.begin() + 200, all.end());
  CHECK(Sorted(first) == UpTo(200));
  CHECK(Sorted(second) == UpTo(200));
  CHECK(first != second);
  // The buffer has read no more than its size plus one record per draw.
  for (int64_t i = 0; i < 200; ++i) CHECK(first[static_cast<size_t>(i)] < i + 16);
}

TEST_CASE("a window of one keeps the order, and one of any size draws uniformly") {
  InputFnOptions options = RangeOf(20);
  options.shuffle = Window(1);
  CHECK(Flat(Take(*Open(options))) == UpTo(20));
  // The first of 4 handles in a window of 4: each in a quarter of 4000 epochs, 6 sigma = 164.
  std::vector<int> counts(4);
  WindowShuffle<int64_t> window(4, {1, 2});
  for (int64_t epoch = 0; epoch < 4000; ++epoch) {
    int64_t next = 0;
    window.Begin(epoch);
    ++counts[static_cast<size_t>(*window.Next([&]() -> std::optional<int64_t> {
      if (next == 4) return std::nullopt;
      return next++;
    }))];
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 164);
}

TEST_CASE("a shuffle that cannot be is refused with its key") {
  InputFnOptions options = RangeOf(5);
  options.shuffle = Window(0);
  const Thrown zero = ErrorOf([&] { (void)MakeInputFn(options, "train"); });
  CHECK(zero.code == Code::kUsage);
  CHECK(zero.key == "input_fns.train.shuffle.buffer_size");
  options.shuffle->buffer_size = "all";
  CHECK(Has(ErrorOf([&] { (void)MakeInputFn(options, "train"); }).message, "'all'"));
}

}  // namespace tpuest::data
