#include "core/sharding/split.h"

#include <doctest/doctest.h>

namespace tpuest {
namespace {

Tensor Column(const std::vector<float>& values) {
  return Tensor::Of<float>({static_cast<int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("a batch is split evenly and in order over the replicas") {
  const Tensor batch = Column({0, 1, 2, 3, 4, 5});
  const std::vector<Tensor> parts = SplitRows(batch, 3);
  REQUIRE(parts.size() == 3);
  CHECK(SameBits(parts[1], Column({2, 3})));
  CHECK(SameBits(ConcatRows(parts), batch));
  CHECK_THROWS_AS((void)SplitRows(batch, 4), InternalError);
}

TEST_CASE("splitting copies nothing") {
  const Tensor batch = Column({0, 1, 2, 3});
  CHECK(SplitRows(batch, 2)[1].raw() == batch.data<float>() + 2);
  CHECK(ConcatRows({batch}).raw() == batch.raw());
}

TEST_CASE("parts of different sizes are joined, parts of different widths are not") {
  const Tensor a = Tensor::Of<int32_t>({1, 2}, {1, 2});
  const Tensor b = Tensor::Of<int32_t>({2, 2}, {3, 4, 5, 6});
  CHECK(SameBits(ConcatRows({a, b}), Tensor::Of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6})));
  CHECK_THROWS_AS((void)ConcatRows({a, Tensor::Of<int32_t>({1, 1}, {7})}), InternalError);
}

TEST_CASE("joined strings outlive their parts") {
  Tensor joined;
  { joined = ConcatRows({Tensor::Strings({1}, {"first"}), Tensor::Strings({1}, {"second"})}); }
  CHECK(joined.strings()[0] == "first");
  CHECK(joined.strings()[1] == "second");
}

TEST_CASE("a short batch is padded with copies of its first row, which weigh nothing") {
  const Tensor batch = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  CHECK(SameBits(PadRows(batch, 4), Tensor::Of<float>({4, 2}, {1, 2, 3, 4, 1, 2, 1, 2})));
  CHECK(PadRows(batch, 2).raw() == batch.raw());
  CHECK_THROWS_AS((void)PadRows(batch, 1), InternalError);
  CHECK(SameBits(ExampleWeight(2, 4), Column({1, 1, 0, 0})));
}

}  // namespace tpuest
