#include "core/io/increment.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/io/crc32c.h"
#include "core/io/row_names.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

Tensor Floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::kFloat, shape);
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

Tensor Numbers(const std::vector<int64_t>& numbers) {
  Tensor tensor(DType::kInt64, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), tensor.data<int64_t>());
  return tensor;
}

std::vector<float> FloatsIn(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.elements()};
}

std::vector<int64_t> NumbersIn(const Tensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.elements()};
}

// A folder with a base, and increments of its table "t" with rows of two numbers.
struct Increments {
  Increments() : base(folder.File("model.ckpt-1")), prefix(folder.File("model.ckpt-2")) {}

  void WriteWholeBase() const {
    WriteBundle(base, {{"t", Floats({4, 2}, {0, 0, 1, 1, 2, 2, 3, 3})},
                       {"bias", Floats({1}, {5})},
                       {"tpuest/goal", Numbers({9, 9})}});
  }
  void WriteBaseOfRows() const {
    WriteBundle(base, {{RowKeysName("t"), Numbers({1, 4, 6})},
                       {RowValuesName("t"), Floats({3, 2}, {1, 1, 4, 4, 6, 6})}});
  }
  // The values are the rows' numbers times ten.
  void Write(const std::vector<int64_t>& rows, const std::vector<int64_t>& dropped) const {
    std::vector<float> values;
    for (const int64_t row : rows) values.insert(values.end(), 2, static_cast<float>(10 * row));
    std::vector<NamedTensor> entries = IncrementEntries(
        {.prefix = base, .checksum = IndexChecksum(base), .place = 1}, {{"t", "t"}}, {});
    entries.push_back({ChangedRowsName("t"), Numbers(rows)});
    entries.push_back(
        {ChangedValuesName("t"), Floats({static_cast<int64_t>(rows.size()), 2}, values)});
    if (!dropped.empty()) entries.push_back({DroppedRowsName("t"), Numbers(dropped)});
    entries.push_back({"bias", Floats({1}, {7})});
    WriteBundle(prefix, std::move(entries));
  }
  [[nodiscard]] Thrown Fault() const {
    return ErrorOf([this] { (void)BundleReader(prefix); });
  }

  TemporaryFolder folder;
  std::string base;
  std::string prefix;
};

}  // namespace

TEST_CASE("an increment of a table that its base has whole reads as the whole of it") {
  const Increments files;
  files.WriteWholeBase();
  files.Write({1, 3}, {});
  const BundleReader reader(files.prefix);
  CHECK(reader.Names() == std::vector<std::string>{"bias", "t"});  // no goal: that is the base's
  CHECK(FloatsIn(reader.Read("t")) == std::vector<float>{0, 0, 10, 10, 2, 2, 30, 30});
  CHECK(FloatsIn(reader.Read("bias")) == std::vector<float>{7});
  CHECK(reader.ShapeOf("t") == Shape({4, 2}));
  CHECK(reader.RowSlicesOf("t") == 1);
  const Tensor whole = reader.Read("t");
  CHECK(reader.ChecksumOf("t") == Crc32c({static_cast<const char*>(whole.raw()), whole.bytes()}));
  CHECK(!reader.Has(ChangedRowsName("t")));
  REQUIRE(reader.increment() != nullptr);
  CHECK(reader.increment()->base().prefix == files.base);
  CHECK(reader.increment()->ChangedRows("t") == std::vector<int64_t>{1, 3});
}

TEST_CASE("an increment of a table that its base has the written rows of reads as those of both") {
  const Increments files;
  files.WriteBaseOfRows();
  files.Write({0, 4, 6, 9}, {6});
  const BundleReader reader(files.prefix);
  CHECK(reader.Names() == std::vector<std::string>{"bias", "t-keys", "t-values"});
  CHECK(NumbersIn(reader.Read("t-keys")) == std::vector<int64_t>{0, 1, 4, 9});
  CHECK(FloatsIn(reader.Read("t-values")) == std::vector<float>{0, 0, 1, 1, 40, 40, 90, 90});
  CHECK(reader.DTypeOf("t-keys") == DType::kInt64);
}

TEST_CASE("rows are found where the pieces of their table end within them") {
  const Increments files;
  constexpr int64_t kRows = 200'000;  // of 12 bytes each: more than two pieces
  std::vector<float> values(3 * kRows);
  std::iota(values.begin(), values.end(), 0.0F);
  WriteBundle(files.base, {{"t", Floats({kRows, 3}, values)}});
  std::vector<int64_t> rows = {0, 87380, 87381, 87382, 174762, 174763, kRows - 1};
  std::vector<NamedTensor> entries =
      IncrementEntries({files.base, IndexChecksum(files.base), 1}, {{"t", "t"}}, {});
  entries.push_back({ChangedRowsName("t"), Numbers(rows)});
  entries.push_back({ChangedValuesName("t"), Floats({static_cast<int64_t>(rows.size()), 3},
                                                    std::vector<float>(3 * rows.size(), -1))});
  WriteBundle(files.prefix, std::move(entries));
  for (const int64_t row : rows) {
    for (int64_t k = 0; k < 3; ++k) values[static_cast<size_t>(3 * row + k)] = -1;
  }
  CHECK(FloatsIn(BundleReader(files.prefix).Read("t")) == values);
}

TEST_CASE("changed records of an increment replace those of its base") {
  const Increments files;
  const auto lines = [](const std::vector<int64_t>& numbers) {
    return Numbers(numbers).Reshaped(Shape({static_cast<int64_t>(numbers.size() / 2), 2}));
  };
  WriteBundle(files.base, {{"seen", lines({1, 10, 2, 20, 5, 50, 7, 70})}});
  const IncrementBase base{files.base, IndexChecksum(files.base), 1};
  std::vector<NamedTensor> entries = IncrementEntries(base, {}, {"seen"});
  entries.push_back({ChangedLinesName("seen"), lines({0, 1, 2, 21, 9, 90})});
  entries.push_back({GoneLinesName("seen"), Numbers({5, 6})});
  WriteBundle(files.prefix, entries);
  const BundleReader reader(files.prefix);
  CHECK(reader.ShapeOf("seen") == Shape({5, 2}));
  CHECK(NumbersIn(reader.Read("seen")) == std::vector<int64_t>{0, 1, 1, 10, 2, 21, 7, 70, 9, 90});
  CHECK(reader.increment()->ChangedLines("seen") == std::vector<int64_t>{5, 6, 0, 2, 9});
  WriteBundle(files.base, {{"seen", lines({2, 20, 1, 10})}});
  CHECK(files.Fault().code == Code::kCheckpoint);
}

TEST_CASE(
    "an increment whose base is missing, rewritten or invalid is refused, and the message names "
    "the base") {
  const Increments files;
  files.WriteWholeBase();
  files.Write({1}, {});
  CHECK(BaseOf(files.prefix) ==
        IncrementBase{.prefix = files.base, .checksum = IndexChecksum(files.base), .place = 1});
  CHECK(BaseOf(files.base) == std::nullopt);
  WriteBundle(files.base, {{"t", Floats({4, 2}, {9, 9, 9, 9, 9, 9, 9, 9})}});
  CHECK(files.Fault().message.find("was written anew since") != std::string::npos);
  RemoveFile(BundleIndexPath(files.base));
  CHECK(files.Fault().code == Code::kCheckpoint);
  CHECK(files.Fault().message.find("since " + files.base + ", and that is not there") !=
        std::string::npos);
  CHECK(BaseOf(files.prefix)->prefix == files.base);

  Increments chained;
  chained.WriteWholeBase();
  chained.Write({1}, {});
  chained.base = std::exchange(chained.prefix, chained.folder.File("model.ckpt-3"));
  chained.Write({1}, {});
  CHECK(chained.Fault().message.find("is not whole either") != std::string::npos);
}

TEST_CASE("rows that do not rise, are outside or not of the base's width are no increment") {
  const Increments files;
  files.WriteWholeBase();
  files.Write({3, 1}, {});
  CHECK(files.Fault().message.find("tpuest/increment/rows/t") != std::string::npos);
  files.Write({1, 4}, {});
  CHECK(files.Fault().message.find("tpuest/increment/values/t") != std::string::npos);
  files.Write({1}, {2});
  CHECK(files.Fault().message.find("tpuest/increment/dropped/t") != std::string::npos);
  WriteBundle(files.base, {{"t", Floats({4, 3}, std::vector<float>(12))}});
  files.Write({1}, {});
  CHECK(files.Fault().message.find("tpuest/increment/values/t") != std::string::npos);
  WriteBundle(files.base, {{"u", Floats({4, 2}, std::vector<float>(8))}});
  files.Write({1}, {});
  CHECK(files.Fault().message.find("has no table \"t\"") != std::string::npos);
}

}  // namespace tpuest
