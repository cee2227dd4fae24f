#include "core/io/tfrecord.h"

#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

std::vector<std::string> ReadRecords(const std::string& path) {
  RecordReader reader(path);
  std::vector<std::string> records;
  Record record;
  while (reader.Next(record)) records.emplace_back(record.bytes);
  return records;
}

std::vector<std::string> TensorFlowsRecords() {
  std::vector<std::string> records;
  for (const nlohmann::json& hex : Expected("records")) records.push_back(FromHex(hex));
  return records;
}

// Three records of 32 zero bytes, whose CRC is published.
std::string ThreeRecords() {
  std::string bytes;
  for (int i = 0; i < 3; ++i) AppendRecord(bytes, std::string(32, '\0'));
  return bytes;
}

constexpr uint64_t kFramed = 48;  // of each of these

}  // namespace

TEST_CASE("TensorFlow's records are read, plain, GZIP and ZLIB") {
  for (const std::string name : {"plain", "gzip", "zlib"}) {
    CAPTURE(name);
    CHECK(ReadRecords(TestData("records/" + name + ".tfrecord")) == TensorFlowsRecords());
  }
  CHECK(RecordCompression(TestData("records/plain.tfrecord")) == Compression::kNone);
  CHECK(RecordCompression(TestData("records/gzip.tfrecord")) == Compression::kGzip);
  CHECK(RecordCompression(TestData("records/zlib.tfrecord")) == Compression::kZlib);
}

TEST_CASE("records are written as TensorFlow writes them") {
  const TemporaryFolder folder;
  struct Case {
    const char* name;
    Compression compression;
  };
  for (const Case& c : {Case{"plain", Compression::kNone}, Case{"gzip", Compression::kGzip},
                        Case{"zlib", Compression::kZlib}}) {
    CAPTURE(c.name);
    const std::string path = folder.File(c.name);
    RecordWriter writer(path, c.compression, false);
    for (const std::string& record : TensorFlowsRecords()) writer.Write(record);
    CHECK_FALSE(FileExists(path));
    writer.Close();
    CHECK(RecordCompression(path) == c.compression);
    CHECK(ReadRecords(path) == TensorFlowsRecords());
  }
  CHECK(ReadFile(folder.File("plain")) == ReadFile(TestData("records/plain.tfrecord")));
}

TEST_CASE("records larger than every buffer survive each compression") {
  const TemporaryFolder folder;
  std::vector<std::string> records = {"", std::string(3 << 20, 'a'), "b", std::string(300000, 'c')};
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    RecordWriter writer(folder.File("big"), compression, false);
    for (const std::string& record : records) writer.Write(record);
    writer.Close();
    CHECK(ReadRecords(folder.File("big")) == records);
  }
}

TEST_CASE("views into an uncompressed file stay, and name offset and index") {
  RecordReader reader(TestData("records/plain.tfrecord"));
  CHECK(reader.bytes_stay());
  CHECK_FALSE(RecordReader(TestData("records/gzip.tfrecord")).bytes_stay());
  std::vector<Record> records;
  Record record;
  while (reader.Next(record)) records.push_back(record);
  const std::vector<std::string> expected = TensorFlowsRecords();
  REQUIRE(records.size() == expected.size());
  for (size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].bytes == expected[i]);
    CHECK(records[i].index == static_cast<int64_t>(i));
  }
  CHECK(records[1].offset == expected[0].size() + kRecordHeaderBytes + kRecordFooterBytes);
}

TEST_CASE("offsets lead to any record") {
  const RecordFile file(TestData("records/plain.tfrecord"));
  const std::vector<uint64_t> offsets = file.Offsets();
  const std::vector<std::string> expected = TensorFlowsRecords();
  REQUIRE(offsets.size() == expected.size());
  for (size_t i = offsets.size(); i-- > 0;) {
    CHECK(file.ReadRecordAt(offsets[i], static_cast<int64_t>(i)).bytes == expected[i]);
  }
}

TEST_CASE("a flipped byte of a record is reported with record, byte and both checksums") {
  const TemporaryFolder folder;
  const std::string path = folder.File("train-00003.tfrecord");
  std::string bytes = ThreeRecords();
  bytes[kFramed + kRecordHeaderBytes] = 1;
  Put(path, bytes);
  RecordReader reader(path);
  Record record;
  CHECK(reader.Next(record));
  const Thrown thrown = ErrorOf([&] { static_cast<void>(reader.Next(record)); });
  CHECK(thrown.code == Code::kData);
  CHECK(thrown.message.starts_with(path + ": record 1 at byte 48 is damaged (crc "));
  CHECK(thrown.message.ends_with(", stored 8a9136aa)"));
  const RecordFile file(path);
  CHECK(file.Offsets() == std::vector<uint64_t>{0, 48, 96});
  CHECK(ErrorOf([&] { static_cast<void>(file.ReadRecordAt(48, 1)); }).message == thrown.message);
  CHECK(file.ReadRecordAt(96, 2).bytes == std::string(32, '\0'));
}

TEST_CASE("a flipped byte of a stored checksum is reported with both checksums") {
  const TemporaryFolder folder;
  const std::string path = folder.File("r");
  std::string bytes = ThreeRecords();
  bytes[kFramed - 4] ^= 1;
  Put(path, bytes);
  Record record;
  const Thrown thrown = ErrorOf([&] { static_cast<void>(RecordReader(path).Next(record)); });
  CHECK(
      thrown.message.starts_with(path + ": record 0 at byte 0 is damaged (crc 8a9136aa, stored "));
}

TEST_CASE("a flipped byte of a length is reported as a damaged length") {
  const TemporaryFolder folder;
  const std::string path = folder.File("r");
  std::string bytes = ThreeRecords();
  bytes[2 * kFramed + 7] = 1;
  Put(path, bytes);
  CHECK(ErrorOf([&] {
          ReadRecords(path);
        }).message.starts_with(path + ": record 2 at byte 96 has a damaged length (crc "));
  CHECK(ErrorOf([&] {
          static_cast<void>(RecordFile(path).Offsets());
        }).message.starts_with(path + ": record 2 at byte 96 has a damaged length (crc "));
}

TEST_CASE("a truncated file is reported with the expected and found sizes, mapped or streamed") {
  const TemporaryFolder folder;
  const std::string path = folder.File("r");
  Put(path, ThreeRecords().substr(0, 2 * kFramed + 40));
  const std::string cut = ": record 2 at byte 96 is cut short (48 bytes expected, 40 found)";
  CHECK(ErrorOf([&] { ReadRecords(path); }).message == path + cut);
  CHECK(ErrorOf([&] { static_cast<void>(RecordFile(path).Offsets()); }).message == path + cut);
  Put(path, ThreeRecords().substr(0, kFramed + 5));
  CHECK(ErrorOf([&] { ReadRecords(path); }).message ==
        path + ": record 1 at byte 48 is cut short (12 bytes expected, 5 found)");
  RecordWriter(folder.File("empty")).Close();
  CHECK(ReadRecords(folder.File("empty")).empty());
}

TEST_CASE("a truncated or damaged compressed file is reported") {
  const TemporaryFolder folder;
  const std::string path = folder.File("r");
  for (const std::string name : {"gzip", "zlib"}) {
    CAPTURE(name);
    const std::string whole = ReadFile(TestData("records/" + name + ".tfrecord"));
    Put(path, whole.substr(0, whole.size() - 1));
    CHECK(
        ErrorOf([&] { ReadRecords(path); }).message ==
        fmt::format("{}: compressed data ends in the middle, at byte {}", path, whole.size() - 1));
    std::string flipped = whole;
    flipped[whole.size() - 1] ^= 1;
    Put(path, flipped);
    const Thrown thrown = ErrorOf([&] { ReadRecords(path); });
    CHECK(thrown.code == Code::kData);
    CHECK(thrown.message.starts_with(path + ": compressed data is damaged near byte "));
  }
}

TEST_CASE("gzip members in a row are one stream") {
  const TemporaryFolder folder;
  const std::string one = ReadFile(TestData("records/gzip.tfrecord"));
  Put(folder.File("two"), one + one);
  CHECK(ReadRecords(folder.File("two")).size() == 2 * TensorFlowsRecords().size());
}

TEST_CASE("a plain record whose length looks like gzip's first bytes is plain") {
  const TemporaryFolder folder;
  std::string bytes;
  AppendRecord(bytes, std::string(0x8b1f, 'x'));
  Put(folder.File("r"), bytes);
  CHECK(CompressionOf(bytes) == Compression::kGzip);
  CHECK(RecordCompression(folder.File("r")) == Compression::kNone);
  CHECK(ReadRecords(folder.File("r")).size() == 1);
}

TEST_CASE("a stream is inflated if its first bytes say so, and passed on if not") {
  const TemporaryFolder folder;
  Put(folder.File("text"), "x");
  CHECK(ReadAll(*OpenStream(folder.File("text"))) == "x");
  CHECK(ReadAll(*OpenStream(TestData("records/gzip.tfrecord"))) ==
        ReadFile(TestData("records/plain.tfrecord")));
  CHECK(ReadAll(*OpenStream(TestData("records/zlib.tfrecord"))) ==
        ReadFile(TestData("records/plain.tfrecord")));
  CHECK(ErrorOf([&] { static_cast<void>(OpenStream(folder.File("none"))); }).message ==
        folder.File("none: cannot read: No such file or directory"));
}

}  // namespace tpuest
