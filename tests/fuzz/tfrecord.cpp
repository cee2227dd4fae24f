// TFRecord files, compressed or not: read in order, at random, and checked past damage. The first
// byte selects one, and whether the checksums are corrected first, so that the bytes after them are
// reached.

#include "core/io/tfrecord.h"

#include "core/io/record_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

// The intact records up to the first fault.
size_t ReadInOrder(const std::string& path) {
  size_t records = 0;
  Takes([&] {
    RecordReader reader(path);
    Record record;
    while (reader.Next(record)) ++records;
  });
  return records;
}

size_t ReadAtRandom(const std::string& path) {
  size_t records = 0;
  Takes([&] {
    const RecordFile file(path);
    for (const uint64_t offset : file.Offsets()) {
      (void)file.ReadRecordAt(offset, static_cast<int64_t>(records));
      ++records;
    }
  });
  return records;
}

}  // namespace

void RunTfrecord(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  const bool is_repaired = (choice & 1) != 0;
  const std::string path =
      TheFiles().Put("records", is_repaired ? WithRightChecksums(input) : input);
  switch (choice / 2 % 3) {
    case 0:
      ReadInOrder(path);
      break;
    case 1:
      if (RecordCompression(path) != Compression::kNone) break;
      // Offsets refuses a file with a cut end before reading a record.
      Check(ReadAtRandom(path) <= ReadInOrder(path), "more records at random than in order");
      break;
    default: {
      const RecordCheck check = CheckRecords(path);
      Check(check.bytes <= 1100 * input.size(), "more bytes than deflate can hold");
      if (!check.damaged.empty()) break;
      Check(check.records == static_cast<int64_t>(ReadInOrder(path)), "whole, but not read whole");
    }
  }
}

}  // namespace tpuest::fuzz
