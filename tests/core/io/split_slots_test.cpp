#include "core/io/bundle.h"
#include "core/io/slice_key.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

constexpr const char* kPrefix = "old_estimators/v1_linear_parts/model.ckpt-20";
const std::string kTown = "linear/linear_model/town/weights/";

}  // namespace

TEST_CASE("names that differ in the number of a part only belong together") {
  const auto others = OtherParts({"a/part_0/Adam", "a/part_1/Adam", "a/part_1/Adam_1",
                                  "a/part_10/Adam", "b/t_0/x/m", "b/t_1/x/m", "c/part_1",
                                  "c/part_0", "d/part_x/m", "part_0/m", "part_1/m"});
  CHECK(others ==
        std::map<std::string, std::vector<std::string>>{
            {"a/part_0/Adam", {"a/part_1/Adam", "a/part_10/Adam"}}, {"b/t_0/x/m", {"b/t_1/x/m"}}});
}

TEST_CASE("the slots of a variable's parts read as one tensor under the name of each part") {
  const BundleReader reader(TestData(kPrefix));
  std::vector<std::string> names;
  for (const std::string& name : reader.Names()) {
    if (name.starts_with(kTown)) names.push_back(name);
  }
  CHECK(names == std::vector{kTown + "part_0/Ftrl", kTown + "part_0/Ftrl_1"});
  for (const char* const part : {"part_0/Ftrl", "part_1/Ftrl", "part_2/Ftrl"}) {
    const Tensor slot = reader.Read(kTown + part);
    REQUIRE(slot.shape() == Shape{8, 1});
    // From tf.raw_ops.RestoreV2, slice by slice.
    const std::vector<float> expected = {64.574425F, 0.1F,       0.1F, 58.44043F,
                                         0.1F,       53.942596F, 0.1F, 0.1F};
    CHECK(std::vector<float>(slot.data<float>(), slot.data<float>() + 8) == expected);
  }
}

}  // namespace tpuest
