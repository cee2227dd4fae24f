// Stages in the job's own order. The expected values without a shuffle are those of tf.data of
// TensorFlow 2.15 for the same calls.

#include "data/pipeline/stages.h"

#include <algorithm>
#include <numeric>

#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

using Stages = std::vector<StageOptions>;
using Ints64 = std::vector<int64_t>;

StageOptions Repeat(int64_t count) { return {.repeat = count}; }
StageOptions TakeStage(int64_t count) { return {.take = count}; }
StageOptions Skip(int64_t count) { return {.skip = count}; }
StageOptions Shard(int64_t parts, int64_t index) {
  return {.shard = ShardOptions{.num_shards = parts, .index = index}};
}
StageOptions Keep(const std::string& formula) { return {.filter = {.text = formula}}; }
StageOptions While(const std::string& formula) { return {.take_while = {.text = formula}}; }
StageOptions Shuffled(int64_t window) { return {.shuffle = window}; }

InputFnOptions Staged(int64_t records, Stages stages) {
  InputFnOptions options = RangeOf(records);
  options.stages = std::move(stages);
  return options;
}

// The first values that the stages return for the numbers below `records`.
Ints64 Passed(int64_t records, Stages stages, int64_t limit = 40) {
  Ints64 values =
      Flat(Take(*Open(Staged(records, std::move(stages)), {.batch_size = 3}), (limit + 2) / 3));
  values.resize(std::min(values.size(), static_cast<size_t>(limit)));
  return values;
}

Thrown RefusedStages(Stages stages) {
  return ErrorOf([&] { (void)MakeInputFn(Staged(9, std::move(stages)), "train"); });
}

}  // namespace

TEST_CASE("stages give what tf.data's methods give in the same order") {
  CHECK(Passed(5, {Repeat(2), TakeStage(8), Skip(3)}) == Ints64{3, 4, 0, 1, 2});
  CHECK(Passed(5, {TakeStage(3), Repeat(3), Shard(2, 1)}) == Ints64{1, 0, 2, 1});
  CHECK(Passed(10, {Skip(4), Repeat(2), Keep("value % 2 == 1")}) == Ints64{5, 7, 9, 5, 7, 9});
  CHECK(Passed(10, {While("value < 3"), Repeat(2)}) == Ints64{0, 1, 2, 0, 1, 2});
  CHECK(Passed(5, {Repeat(2), While("value < 3")}) == Ints64{0, 1, 2});
  CHECK(Passed(10, {Shard(3, 2), Repeat(-1)}, 7) == Ints64{2, 5, 8, 2, 5, 8, 2});
  CHECK(Passed(10, {Keep("value > 6"), TakeStage(2), Repeat(2)}) == Ints64{7, 8, 7, 8});
}

TEST_CASE("a filter sees the columns that the stages before it make") {
  StageOptions squared;
  ExprMap square;
  square.out = "value";
  square.value.text = "value * value";
  squared.map.emplace_back(square);
  CHECK(Passed(6, {Keep("value < 4"), squared, Keep("value > 1")}) == Ints64{4, 9});
  CHECK(Has(RefusedStages({Keep("squared < 4")}).message, "there is no 'squared'"));
}

TEST_CASE("a shuffle behind repeat mixes passes, before it does not") {
  Ints64 mixed = Passed(6, {Repeat(3), Shuffled(100)});
  CHECK(mixed.size() == 18);
  Ints64 first(mixed.begin(), mixed.begin() + 6);
  std::sort(first.begin(), first.end());
  CHECK(first != Ints64{0, 1, 2, 3, 4, 5});
  std::sort(mixed.begin(), mixed.end());
  CHECK(mixed == Ints64{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5});

  const Ints64 passes = Passed(6, {Shuffled(100), Repeat(3)});
  Ints64 orders[3];
  for (int i = 0; i < 3; ++i) {
    orders[i] = {passes.begin() + 6 * i, passes.begin() + 6 * i + 6};
    Ints64 sorted = orders[i];
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == Ints64{0, 1, 2, 3, 4, 5});
  }
  CHECK((orders[0] != orders[1] || orders[1] != orders[2]));
}

TEST_CASE("a window gives no example sooner than it can") {
  const Ints64 values = Passed(30, {Shuffled(4)});
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] <= static_cast<int64_t>(i) + 3);
  Ints64 sorted = values;
  std::sort(sorted.begin(), sorted.end());
  Ints64 all(30);
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
  CHECK(values != all);
}

TEST_CASE("the length of stages that end is known") {
  const auto length = [](Stages stages) {
    return Open(Staged(10, std::move(stages)))->epoch_size();
  };
  CHECK(length({Repeat(3), Keep("value < 4")}) == 12);
  CHECK(length({Repeat(-1), TakeStage(25)}) == 25);
  CHECK_FALSE(length({Repeat(-1), Shuffled(3)}));
  CHECK(Open(Staged(10, {Repeat(-1)}))->endless());
  CHECK_FALSE(Open(Staged(10, {Shuffled(2)}))->endless());
}

TEST_CASE("going on from any batch gives the rest, through every stage") {
  StageOptions cast;
  cast.map.emplace_back(CastTo("value", "float32", "x"));
  const InputFnOptions options =
      Staged(40, {Skip(2), Shard(2, 0), Shuffled(5), cast, Keep("x % 3.0 != 0.0"), Repeat(4),
                  Shuffled(9), TakeStage(41)});
  const Ask ask{.batch_size = 3, .threads = 2};
  const auto whole = Open(options, ask);
  std::vector<Ints64> batches;
  std::vector<StreamPosition> positions;
  while (const std::optional<Batch> batch = whole->Next()) {
    batches.push_back(Ints(batch->features[0]));
    positions.push_back(batch->after);
  }
  REQUIRE(batches.size() == 14);
  const auto stream = Open(options, {.batch_size = 3, .threads = 1});
  for (size_t i = 0; i < batches.size(); ++i) {
    stream->Seek(positions[i]);
    CHECK(Take(*stream) == Batches(batches.begin() + static_cast<ptrdiff_t>(i) + 1, batches.end()));
  }
  stream->Seek({1, 0});
  CHECK(ErrorOf([&] { (void)stream->Next(); }).message ==
        "the checkpoint's input position was saved without stages");
  stream->Seek({0, 42});
  CHECK(Has(ErrorOf([&] { (void)stream->Next(); }).message, "but the stages make 41"));
}

TEST_CASE("invalid stages are refused at their place") {
  CHECK(RefusedStages({{}}).message == "the stage has no key");
  StageOptions two = Repeat(2);
  two.take = 1;
  const Thrown both = RefusedStages({Skip(1), two});
  CHECK(both.message == "expected one step per stage, found repeat and take");
  CHECK(both.key == "input_fns.train.stages[1]");
  CHECK(RefusedStages({Repeat(-2)}).message == "repeat is -2; expected -1 or more");
  CHECK(RefusedStages({Shuffled(0)}).message == "shuffle is 0; expected 1 or more");
  CHECK(RefusedStages({Shard(2, 2)}).message == "index 2 is out of range: num_shards is 2");
  CHECK(Has(RefusedStages({{.batch = 4}, Repeat(2)}).message, "batch must be the last stage"));
  InputFnOptions beside = Staged(9, {Repeat(2)});
  beside.repeat = 3;
  CHECK(ErrorOf([&] { (void)MakeInputFn(beside, "train"); }).message ==
        "repeat and stages exclude each other: their order would be undefined");
  const InputFnOptions fives = Staged(9, {{.batch = 5}});
  CHECK(ErrorOf([&] { (void)Open(fives, {.mode = Mode::kTrain}); }).message ==
        "batch is 5, but train_batch_size is 4");
  CHECK(Take(*Open(fives)).size() == 3);
  CHECK(ErrorOf([&] { (void)Open(Staged(9, {TakeStage(0)})); }).message ==
        "the stages drop all 9 records");
}

TEST_CASE("a filter that lets nothing through behind an endless repeat says so") {
  const auto stream = Open(Staged(9, {Skip(3), Repeat(-1), Keep("value < 2")}));
  CHECK(Has(ErrorOf([&] { (void)stream->Next(); }).message, "the filter rejected"));
}

}  // namespace tpuest::data
