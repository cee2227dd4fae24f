#include "core/io/table.h"

#include "core/io/slice_key.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

std::vector<TableEntry> ManyEntries() {
  std::vector<TableEntry> entries = {{"", "header"}};
  for (int i = 0; i < 500; ++i) {
    entries.push_back({fmt::format("layer_{:04}/kernel", i), std::string(i % 50, 'v')});
  }
  return entries;
}

std::string Build(const std::vector<TableEntry>& entries, TableOptions options) {
  TableBuilder builder(options);
  for (const TableEntry& entry : entries) builder.Add(entry.key, entry.value);
  return builder.Finish();
}

}  // namespace

TEST_CASE("a table gives back its entries, in one block or in many, plain or snappy") {
  const std::vector<TableEntry> entries = ManyEntries();
  for (const TableOptions& options :
       {TableOptions{}, TableOptions{.block_size = 1}, TableOptions{.block_size = 700},
        TableOptions{.restart_interval = 1}, TableOptions{.block_size = 4096, .snappy = true}}) {
    CHECK(ReadTable("t.index", Build(entries, options)) == entries);
  }
  CHECK(Build(entries, {.snappy = true}).size() < Build(entries, {}).size());
  CHECK(ReadTable("t.index", Build({}, {})).empty());
}

TEST_CASE("a table ends in LevelDB's footer") {
  const std::string bytes = Build({{"k", "v"}}, {});
  CHECK(bytes.substr(bytes.size() - 8) == FromHex("57fb808b247547db"));
}

TEST_CASE("keys that do not ascend are our own mistake") {
  TableBuilder builder;
  builder.Add("b", "");
  CHECK_THROWS_AS(builder.Add("b", ""), InternalError);
  CHECK_THROWS_AS(builder.Add("a", ""), InternalError);
}

TEST_CASE("a flipped byte in a block is reported with its place and both checksums") {
  std::string bytes = Build({{"key", "value"}}, {});
  bytes[5] ^= 1;
  const Thrown thrown = ErrorOf([&] { static_cast<void>(ReadTable("m.index", bytes)); });
  CHECK(thrown.code == Code::kCheckpoint);
  CHECK(thrown.message.starts_with("m.index: block at byte 0 is damaged (crc "));
  CHECK(thrown.message.find(", stored ") != std::string::npos);
}

TEST_CASE("a file that is not a table is recognized by its last bytes") {
  const Thrown thrown =
      ErrorOf([&] { static_cast<void>(ReadTable("m.index", std::string(100, 'x'))); });
  CHECK(thrown.message ==
        "m.index: is cut short or no checkpoint index (ends in 7878787878787878, expected "
        "db4775248b80fb57)");
}

TEST_CASE("slice keys are TensorFlow's ordered code") {
  // 0, "w" and its end, rank 2, [0 (all)], [100, 100]: 100 takes two bytes.
  CHECK(SliceKey("w", {{0, -1}, {100, 100}}) == FromHex("00"
                                                        "770001"
                                                        "0102"
                                                        "807f"
                                                        "c064c064"));
  CHECK(SliceKey(std::string("\0\xFF", 2), {}) == FromHex("00"
                                                          "00ffff00"
                                                          "0001"
                                                          "00"));
  // 63 is the last of one byte, 8191 of two; 2^62 takes ten.
  CHECK(SliceKey("", {{63, 8191}}) == FromHex("000001"
                                              "0101"
                                              "bf"
                                              "dfff"));
  CHECK(SliceKey("", {{int64_t{1} << 62, -64}}) == FromHex("000001"
                                                           "0101"
                                                           "ffc04000000000000000"
                                                           "40"));
}

}  // namespace tpuest
