#include "core/io/record_check.h"

#include "core/io/tfrecord.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

constexpr uint64_t kFramedRecord = 48;  // of a record of 32 bytes

std::string FiveRecords() {
  std::string bytes;
  for (char c = 'a'; c < 'f'; ++c) AppendRecord(bytes, std::string(32, c));
  return bytes;
}

RecordCheck CheckOf(const std::string& bytes) {
  const TemporaryFolder folder;
  Put(folder.File("x.tfrecord"), bytes);
  return CheckRecords(folder.File("x.tfrecord"));
}

TEST_CASE("a file without damage has none, plain and compressed") {
  const RecordCheck check = CheckOf(FiveRecords());
  CHECK(check.records == 5);
  CHECK(check.bytes == 160);
  CHECK(check.damaged.empty());
  for (const std::string name : {"plain", "gzip", "zlib"}) {
    CAPTURE(name);
    CHECK(CheckRecords(TestData("records/" + name + ".tfrecord")).records == 6);
  }
  CHECK(CheckOf("").records == 0);
}

TEST_CASE("damaged data are reported, and the next record is read") {
  std::string bytes = FiveRecords();
  bytes[kFramedRecord + 20] ^= 1;
  bytes[3 * kFramedRecord + 46] ^= 1;  // the stored checksum
  const RecordCheck check = CheckOf(bytes);
  CHECK(check.records == 3);
  REQUIRE(check.damaged.size() == 2);
  CHECK(check.damaged[0].index == 1);
  CHECK(check.damaged[0].offset == kFramedRecord);
  CHECK(check.damaged[0].why.starts_with("is damaged (crc "));
  CHECK(check.damaged[1].index == 3);
  CHECK(check.damaged[1].offset == 3 * kFramedRecord);
}

TEST_CASE("after a damaged length the next header is searched") {
  std::string bytes = FiveRecords();
  bytes[kFramedRecord + 1] ^= 1;
  const RecordCheck check = CheckOf(bytes);
  CHECK(check.records == 4);
  REQUIRE(check.damaged.size() == 1);
  CHECK(check.damaged[0].why.starts_with("has a damaged length (crc "));
  CHECK(check.damaged[0].offset == kFramedRecord);
}

TEST_CASE("a cut end and a cut compressed file are one damage each") {
  const RecordCheck cut = CheckOf(FiveRecords().substr(0, 5 * kFramedRecord - 3));
  CHECK(cut.records == 4);
  REQUIRE(cut.damaged.size() == 1);
  CHECK(cut.damaged[0].why == "is cut short (48 bytes expected, 45 found)");

  const std::string gzip = ReadFile(TestData("records/gzip.tfrecord"));
  const RecordCheck half = CheckOf(gzip.substr(0, gzip.size() / 2));
  CHECK(half.damaged.size() == 1);
  CHECK(half.records < 6);
}

}  // namespace
}  // namespace tpuest
