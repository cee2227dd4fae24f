// For any damage to a file's bytes, its reader returns the written values or throws Error.

#include <functional>

#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/events/event_reader.h"
#include "core/io/examples/example.h"
#include "core/io/object_graph.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/table.h"
#include "core/io/tfrecord.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

// Calls `visit` with the bytes cut at every length and with one bit, then all bits, of every byte
// flipped.
void ForEachDamage(const std::string& whole, const std::function<void(const std::string&)>& visit) {
  for (size_t size = 0; size < whole.size(); ++size) visit(whole.substr(0, size));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1 << (at % 8), 0xFF}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      visit(damaged);
    }
  }
}

// How many of all damages make `read` throw Error; it must never do anything worse.
int Refusals(const std::string& whole, const std::function<void(const std::string&)>& read) {
  int refusals = 0;
  ForEachDamage(whole, [&](const std::string& damaged) {
    try {
      read(damaged);
    } catch (const Error&) {
      ++refusals;
    }
  });
  return refusals;
}

int Damages(const std::string& whole) { return static_cast<int>(3 * whole.size()); }

void ReadWholeBundle(const std::string& prefix) {
  const BundleReader reader(prefix);
  for (const std::string& name : reader.Names()) static_cast<void>(reader.Read(name));
  static_cast<void>(ReadObjectGraph(reader));
}

void ReadWholeRecords(const std::string& path) {
  RecordReader reader(path);
  Record record;
  while (reader.Next(record)) {
  }
}

void ReadWholeExample(std::string_view bytes) {
  ParseExample(bytes, [](const FeatureView& feature) {
    if (feature.kind == FeatureKind::kBytes) {
      std::vector<std::string_view> values(feature.count);
      feature.CopyBytes(values);
    } else if (feature.kind == FeatureKind::kFloat) {
      std::vector<float> values(feature.count);
      feature.CopyFloats(values);
    } else if (feature.kind == FeatureKind::kInt64) {
      std::vector<int64_t> values(feature.count);
      feature.CopyInts(values);
    }
  });
}

// Copies a checkpoint's files and returns the copy's prefix.
std::string CopyBundle(const std::string& prefix, const TemporaryFolder& folder, int num_shards) {
  std::string copy = folder.File("model.ckpt");
  Put(BundleIndexPath(copy), ReadFile(BundleIndexPath(prefix)));
  for (int shard = 0; shard < num_shards; ++shard) {
    Put(BundleDataPath(copy, shard, num_shards),
        ReadFile(BundleDataPath(prefix, shard, num_shards)));
  }
  return copy;
}

}  // namespace

TEST_CASE("no damage to a bundle's data goes unnoticed") {
  for (const std::string name :
       {"name_based/model.ckpt-7", "object_based/ckpt-2", "object_optimizers/adam"}) {
    const TemporaryFolder folder;
    const std::string data = BundleDataPath(CopyBundle(TestData(name), folder, 1), 0, 1);
    const std::string whole = ReadFile(data);
    CHECK(Refusals(whole, [&](const std::string& damaged) {
            Put(data, damaged);
            ReadWholeBundle(folder.File("model.ckpt"));
          }) == Damages(whole));
  }
}

TEST_CASE("no damage to a bundle's index goes unnoticed") {
  for (const auto& [name, shards] :
       {std::pair("name_based/model.ckpt-7", 1), std::pair("partitioned/model.ckpt", 1),
        std::pair("several_shards/model.ckpt", 2)}) {
    const TemporaryFolder folder;
    const std::string index = BundleIndexPath(CopyBundle(TestData(name), folder, shards));
    const std::string whole = ReadFile(index);
    CHECK(Refusals(whole, [&](const std::string& damaged) {
            Put(index, damaged);
            ReadWholeBundle(folder.File("model.ckpt"));
          }) == Damages(whole));
  }
}

TEST_CASE("index entries that lie are refused, though their checksums are right") {
  const TemporaryFolder folder;
  const std::string prefix = CopyBundle(TestData("partitioned/model.ckpt"), folder, 1);
  const std::string whole = ReadFile(BundleIndexPath(prefix));
  const std::vector<TableEntry> entries = ReadTable("index", whole);
  for (size_t i = 0; i < entries.size(); ++i) {
    Refusals(entries[i].value, [&](const std::string& damaged) {
      TableBuilder builder;
      for (size_t j = 0; j < entries.size(); ++j) {
        builder.Add(entries[j].key, j == i ? damaged : entries[j].value);
      }
      Put(BundleIndexPath(prefix), builder.Finish());
      ReadWholeBundle(prefix);
    });
  }
  Put(BundleIndexPath(prefix), whole);
  CHECK_NOTHROW(ReadWholeBundle(prefix));
}

TEST_CASE("an entry whose shape no tensor has is refused with it, whoever asks for the shape") {
  const TemporaryFolder folder;
  const std::string prefix = CopyBundle(TestData("partitioned/model.ckpt"), folder, 1);
  const std::vector<TableEntry> entries = ReadTable("index", ReadFile(BundleIndexPath(prefix)));
  const auto shape_of_entry = [&](const std::vector<int64_t>& dims) {
    pb::BundleEntryProto entry;
    entry.set_dtype(pb::DT_COMPLEX64);
    for (const int64_t dim : dims) entry.mutable_shape()->add_dim()->set_size(dim);
    TableBuilder builder;
    builder.Add("", entries[0].value);
    builder.Add("w", entry.SerializeAsString());
    Put(BundleIndexPath(prefix), builder.Finish());
    return ErrorOf([&] { static_cast<void>(BundleReader(prefix).ShapeOf("w")); });
  };
  CHECK(shape_of_entry({3, 2}).message == "nothing was thrown");
  CHECK(shape_of_entry({-3, 2}).message ==
        prefix + ": \"w\" has shape [-3,2], which is no tensor's");
  CHECK(shape_of_entry({int64_t{1} << 40, int64_t{1} << 40}).code == Code::kCheckpoint);
}

TEST_CASE("a graph of objects that lies is refused or read, never worse") {
  const TemporaryFolder folder;
  const BundleReader reader(TestData("object_optimizers/legacy_adam"));
  const std::string whole(reader.Read(kObjectGraphKey).strings()[0]);
  CHECK(Refusals(whole, [&](const std::string& damaged) {
          // A file system may flush a file when another is renamed over it.
          RemoveFile(BundleIndexPath(folder.File("c")));
          RemoveFile(BundleDataPath(folder.File("c"), 0, 1));
          WriteBundle(folder.File("c"),
                      {{std::string(kObjectGraphKey), Tensor::Strings(Shape(), {damaged})}},
                      {.fsync = false});
          static_cast<void>(ReadObjectGraph(BundleReader(folder.File("c"))));
        }) > 0);
}

TEST_CASE("blocks that lie are refused, though their checksums are right") {
  TableBuilder builder({.snappy = true});
  for (int i = 0; i < 40; ++i) builder.Add(fmt::format("key{:02}", i), "the same value");
  const std::string whole = builder.Finish();
  CHECK(Refusals(whole, [](const std::string& damaged) {
          static_cast<void>(ReadTable("t", damaged));
        }) > Damages(whole) - 3 * 60);
}

TEST_CASE("no damage to plain records goes unnoticed but a cut between two") {
  const TemporaryFolder folder;
  const std::string whole = ReadFile(TestData("records/plain.tfrecord"));
  const int boundaries = static_cast<int>(Expected("records").size());
  CHECK(Refusals(whole, [&](const std::string& damaged) {
          Put(folder.File("r"), damaged);
          ReadWholeRecords(folder.File("r"));
        }) == Damages(whole) - boundaries);
}

TEST_CASE("damaged compressed records are refused, or read if only the frame changed") {
  const TemporaryFolder folder;
  for (const std::string name : {"gzip", "zlib"}) {
    const std::string whole = ReadFile(TestData("records/" + name + ".tfrecord"));
    // gzip's header has a time, a system and flags whose changes do no harm.
    CHECK(Refusals(whole, [&](const std::string& damaged) {
            Put(folder.File("r"), damaged);
            ReadWholeRecords(folder.File("r"));
          }) > Damages(whole) - 3 * 20);
  }
}

TEST_CASE("damaged Examples are refused or read, never worse") {
  int refusals = 0;
  for (const nlohmann::json& hex : Expected("records")) {
    refusals += Refusals(FromHex(hex), ReadWholeExample);
  }
  CHECK(refusals > 0);
}

TEST_CASE("damaged events end the reading") {
  const TemporaryFolder folder;
  const std::string whole = ReadFile(TestData("events/events.out.tfevents.1700000000.host"));
  int noticed = 0;
  ForEachDamage(whole, [&](const std::string& damaged) {
    Put(folder.File("e"), damaged);
    EventReader reader(folder.File("e"));
    EventData event;
    while (reader.Next(event)) {
    }
    noticed += reader.damage().empty() ? 0 : 1;
  });
  CHECK(noticed == Damages(whole) - 10);  // a cut between two of its ten events is no damage
}

TEST_CASE("a damaged state file is refused or read, never worse") {
  const TemporaryFolder folder;
  const std::string whole = ReadFile(TestData("object_based/checkpoint"));
  CHECK(Refusals(whole, [&](const std::string& damaged) {
          Put(folder.File("checkpoint"), damaged);
          static_cast<void>(ReadCheckpointState(folder.path()));
        }) > 0);
}

}  // namespace tpuest
