#include "core/io/slice_order.h"

#include <doctest/doctest.h>

#include <vector>

namespace tpuest {

TEST_CASE("positions in slices that were partitioned by mod map to rows") {
  std::vector<int64_t> rows;
  for (int64_t place = 0; place < 13; ++place) rows.push_back(RowAtPlace(place, 13, 5));
  CHECK(rows == std::vector<int64_t>{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 4, 9});
  CHECK(RowAtPlace(3, 4, 1) == 3);
  CHECK(RowAtPlace(3, 4, 4) == 3);
}

TEST_CASE("a pod's table is read in the order of its rows, by mod") {
  const BundleReader pod(TESTDATA "/pod/model.ckpt-7");
  CHECK(pod.RowSlicesOf("words") == 5);
  CHECK(pod.RowSlicesOf("global_step") == 1);
  const Tensor ordered = ReadInRowOrder(pod, "words", true);
  for (int64_t i = 0; i < 13; ++i) CHECK(ordered.AsDouble(2 * i) == 10.0 * static_cast<double>(i));
  CHECK(ReadInRowOrder(pod, "words", false).AsDouble(2) == 50);
}

}  // namespace tpuest
