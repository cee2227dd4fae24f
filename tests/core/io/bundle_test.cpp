#include "core/io/bundle.h"

#include <sys/resource.h>

#include <thread>

#include "core/io/checkpoint_state.h"
#include "core/io/crc32c.h"
#include "core/io/data_shard.h"
#include "core/io/object_graph.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/table.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

double HalfAsDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// A tensor's values in the form of expected.json.
nlohmann::json ValuesOf(const Tensor& tensor) {
  nlohmann::json values = nlohmann::json::array();
  if (tensor.dtype() == DType::kString) {
    for (const std::string_view value : tensor.strings()) values.push_back(std::string(value));
    return values;
  }
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    switch (tensor.dtype()) {
      case DType::kInt64:
        values.push_back(tensor.data<int64_t>()[i]);
        break;
      case DType::kUint64:
        values.push_back(tensor.data<uint64_t>()[i]);
        break;
      case DType::kHalf:
        values.push_back(HalfAsDouble(static_cast<const uint16_t*>(tensor.raw())[i]));
        break;
      default:
        values.push_back(tensor.AsDouble(i));
    }
  }
  return values;
}

void CheckAgainstTensorFlow(const std::string& prefix, const nlohmann::json& expected) {
  const BundleReader reader(prefix);
  std::vector<std::string> names;
  for (const auto& item : expected.items()) {
    const std::string& name = item.key();
    const nlohmann::json& tensor = item.value();
    CAPTURE(name);
    names.push_back(name);
    CHECK(reader.Has(name));
    CHECK(NameOf(reader.DTypeOf(name)) == tensor.at("dtype").get<std::string>());
    const Shape shape(tensor.at("shape").get<std::vector<int64_t>>());
    CHECK(reader.ShapeOf(name) == shape);
    const Tensor read = reader.Read(name);
    CHECK(read.dtype() == reader.DTypeOf(name));
    CHECK(read.shape() == shape);
    nlohmann::json values = tensor.at("values");
    if (read.dtype() == DType::kString) {
      for (nlohmann::json& value : values) value = FromHex(value.get<std::string>());
    }
    CHECK(ValuesOf(read) == values);
  }
  CHECK(reader.Names() == names);
}

std::vector<NamedTensor> ReadEverything(const BundleReader& reader) {
  std::vector<NamedTensor> tensors;
  for (const std::string& name : reader.Names()) tensors.push_back({name, reader.Read(name)});
  return tensors;
}

// The index's entries without the offsets, because TensorFlow's object-based savers do not sort.
std::vector<std::string> EntriesWithoutOffsets(const std::string& prefix) {
  std::vector<std::string> entries;
  for (const TableEntry& held : ReadTable(prefix, ReadFile(BundleIndexPath(prefix)))) {
    if (held.key.empty()) continue;
    pb::BundleEntryProto entry;
    FromBytes(held.value, entry, prefix, Code::kCheckpoint);
    entry.clear_offset();
    entries.push_back(held.key + " " + entry.ShortDebugString());
  }
  return entries;
}

}  // namespace

TEST_CASE("every tensor of TensorFlow's checkpoints is read, of any dtype, sliced or sharded") {
  CheckAgainstTensorFlow(TestData("name_based/model.ckpt-7"), Expected("name_based"));
  CheckAgainstTensorFlow(TestData("object_based/ckpt-2"), Expected("object_based"));
  CheckAgainstTensorFlow(TestData("partitioned/model.ckpt"), Expected("partitioned"));
  CheckAgainstTensorFlow(TestData("pod/model.ckpt-7"), Expected("pod"));
  CheckAgainstTensorFlow(TestData("several_shards/model.ckpt"), Expected("several_shards"));
}

TEST_CASE("a tensor's checksum is that of its values, sliced or not") {
  for (const char* const name : {"name_based/model.ckpt-7", "partitioned/model.ckpt"}) {
    const BundleReader reader(TestData(name));
    for (const std::string& tensor : reader.Names()) {
      if (reader.DTypeOf(tensor) == DType::kString) continue;
      const Tensor values = reader.Read(tensor);
      CAPTURE(tensor);
      CHECK(reader.ChecksumOf(tensor) ==
            Crc32c({static_cast<const char*>(values.raw()), values.bytes()}));
    }
  }
}

TEST_CASE("the same tensors give TensorFlow's bytes, whatever their order") {
  const TemporaryFolder folder;
  const std::string theirs = TestData("name_based/model.ckpt-7");
  std::vector<NamedTensor> tensors = ReadEverything(BundleReader(theirs));
  std::reverse(tensors.begin(), tensors.end());
  const std::string ours = folder.File("model.ckpt-7");
  WriteBundle(ours, tensors, {.fsync = false});
  CHECK(ReadTable("ours", ReadFile(BundleIndexPath(ours))) ==
        ReadTable("theirs", ReadFile(BundleIndexPath(theirs))));
  const bool same_index = ReadFile(BundleIndexPath(ours)) == ReadFile(BundleIndexPath(theirs));
  CHECK(same_index);
  const bool same_data =
      ReadFile(BundleDataPath(ours, 0, 1)) == ReadFile(BundleDataPath(theirs, 0, 1));
  CHECK(same_data);
}

TEST_CASE(
    "the tensors of an object-based checkpoint get TensorFlow's entries but for their place") {
  const TemporaryFolder folder;
  const std::string theirs = TestData("object_based/ckpt-2");
  WriteBundle(folder.File("ckpt-2"), ReadEverything(BundleReader(theirs)), {.fsync = false});
  CHECK(EntriesWithoutOffsets(folder.File("ckpt-2")) == EntriesWithoutOffsets(theirs));
}

TEST_CASE("a bundle leaves two files and nothing temporary") {
  const TemporaryFolder folder;
  WriteBundle(folder.File("model.ckpt-1"), {{"x", Tensor::Scalar(1.0F)}});
  CHECK(ListDirectory(folder.path()) ==
        std::vector<std::string>{"model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index"});
}

TEST_CASE("tensors that do not fit a shard begin another, streamed in pieces or not") {
  const TemporaryFolder folder;
  const std::string prefix = folder.File("model.ckpt-1");
  const auto streamed = std::make_shared<StreamedTensor>(
      StreamedTensor{.dtype = DType::kFloat, .shape = Shape({3, 2}), .write = [](const auto& take) {
                       const float values[] = {1, 2, 3, 4, 5, 6};
                       const char* const bytes = reinterpret_cast<const char*>(values);
                       take({bytes, 8});
                       take({bytes + 8, 16});
                     }});
  const Tensor whole = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  WriteBundle(prefix, {{"b", {}, streamed}, {"a", whole}, {"c", Tensor::Scalar<int64_t>(7)}},
              {.fsync = false, .shard_bytes = 40});
  CHECK(FileExists(BundleDataPath(prefix, 1, 2)));
  const BundleReader reader(prefix);
  CHECK(SameBits(reader.Read("a"), whole));
  CHECK(SameBits(reader.Read("b"), whole));
  CHECK(reader.ChecksumOf("a") == reader.ChecksumOf("b"));
  CHECK(*reader.Read("c").data<int64_t>() == 7);
  std::string pieces;
  reader.ReadPieces("b", [&](std::string_view bytes) { pieces += bytes; });
  CHECK(pieces == std::string(static_cast<const char*>(whole.raw()), whole.bytes()));
}

TEST_CASE("a data shard that others have written is indexed as one that is written here") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"a", Tensor::Of<float>({3}, {1, 2, 3})},
                                            {"b", Tensor::Of<float>({2}, {4, 5})},
                                            {"c", Tensor::Of<int64_t>({2}, {6, 7})},
                                            {"d", Tensor::Of<float>({1}, {8})}};
  WriteBundle(folder.File("here"), tensors, {.fsync = false, .shard_bytes = 24});
  const WriteElsewhereFn elsewhere = [](std::span<const ShardPlan> shards) {
    REQUIRE(shards.size() == 2);
    DataShardWriter shard(shards[1].path, /*fsync=*/false);
    std::vector<StoredValues> stored;
    for (const NamedTensor* const named : shards[1].tensors) {
      const std::string_view bytes(static_cast<const char*>(named->tensor.raw()),
                                   named->tensor.bytes());
      shard.Append(bytes);
      stored.push_back({.bytes = static_cast<int64_t>(bytes.size()), .crc = Crc32c(bytes)});
    }
    shard.Commit();
    return std::map<size_t, std::vector<StoredValues>>{{1, stored}};
  };
  WriteBundle(folder.File("there"), tensors,
              {.fsync = false, .shard_bytes = 24, .elsewhere = elsewhere});
  CHECK(ReadFile(BundleIndexPath(folder.File("here"))) ==
        ReadFile(BundleIndexPath(folder.File("there"))));
  for (int shard = 0; shard < 2; ++shard) {
    CHECK(ReadFile(BundleDataPath(folder.File("here"), shard, 2)) ==
          ReadFile(BundleDataPath(folder.File("there"), shard, 2)));
  }
}

TEST_CASE("many threads read one bundle") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 40; ++i) {
    tensors.push_back({fmt::format("t{}", i), Tensor::Of<int32_t>({3}, {i, i + 1, i + 2})});
  }
  WriteBundle(folder.File("m"), tensors, {.fsync = false});
  const BundleReader reader(folder.File("m"));
  std::array<int, 4> same{};
  std::vector<std::thread> threads;
  for (int& count : same) {
    threads.emplace_back([&] {
      for (const NamedTensor& t : tensors) count += SameBits(reader.Read(t.name), t.tensor) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::array<int, 4>{40, 40, 40, 40});
}

TEST_CASE("a flipped value is reported with file, tensor, byte and both checksums") {
  const TemporaryFolder folder;
  const std::string prefix = folder.File("model.ckpt-5");
  WriteBundle(
      prefix,
      {{"a", Tensor::Scalar(0.0F)}, {"b", Tensor::Of<float>({8}, {0, 0, 0, 0, 0, 0, 0, 0})}},
      {.fsync = false});
  const std::string data = BundleDataPath(prefix, 0, 1);
  std::string bytes = ReadFile(data);
  bytes[4 + 9] = 1;
  Put(data, bytes);
  const BundleReader reader(prefix);
  CHECK(*reader.Read("a").data<float>() == 0);
  const Thrown thrown = ErrorOf([&] { static_cast<void>(reader.Read("b")); });
  CHECK(thrown.code == Code::kCheckpoint);
  // 8a9136aa is the published CRC of 32 zero bytes.
  CHECK(thrown.message.starts_with(data + ": \"b\" at byte 4 is damaged (crc "));
  CHECK(thrown.message.ends_with(", stored 8a9136aa)"));
}

TEST_CASE("a truncated or missing data shard, and a missing index, are reported") {
  const TemporaryFolder folder;
  const std::string prefix = folder.File("model.ckpt-5");
  WriteBundle(prefix, {{"w", Tensor::Of<double>({2}, {1, 2})}}, {.fsync = false});
  const std::string data = BundleDataPath(prefix, 0, 1);
  Put(data, ReadFile(data).substr(0, 15));
  CHECK(ErrorOf([&] { static_cast<void>(BundleReader(prefix).Read("w")); }).message ==
        data + ": \"w\" at byte 0 is cut short (16 bytes expected, the file has 15)");
  RemoveFile(data);
  CHECK(ErrorOf([&] { static_cast<void>(BundleReader(prefix).Read("w")); }).message ==
        data + ": is missing, the checkpoint's index names it");
  RemoveFile(BundleIndexPath(prefix));
  const Thrown thrown = ErrorOf([&] { BundleReader reader(prefix); });
  CHECK(thrown.code == Code::kCheckpoint);
  CHECK(thrown.message == prefix + ": no such checkpoint (" + prefix + ".index is missing)");
}

TEST_CASE("a name that is not there is answered with the nearest") {
  const BundleReader reader(TestData("name_based/model.ckpt-7"));
  CHECK_FALSE(reader.Has("conv2d/kernl"));
  CHECK_FALSE(reader.Has(""));
  try {
    static_cast<void>(reader.Read("conv2d/kernl"));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.message() == TestData("name_based/model.ckpt-7") + ": has no \"conv2d/kernl\"");
    CHECK(error.faults()[0].hint == "did you mean \"conv2d/kernel\"?");
  }
}

TEST_CASE("an object-based checkpoint tells which tensor is which variable") {
  const ObjectGraph graph = ReadObjectGraph(BundleReader(TestData("object_based/ckpt-2"))).value();
  const auto key_of = [&](const std::string& path, const std::string& full_name) {
    const ObjectGraph::Node& node = graph.at(graph.Walk(0, path).value());
    CHECK(node.full_name == full_name);
    return node.key;
  };
  CHECK(key_of("model/dense/kernel", "dense/kernel") == VariableKey({"model", "dense", "kernel"}));
  CHECK(key_of("model/dense/bias", "dense/bias") == VariableKey({"model", "dense", "bias"}));
  CHECK(key_of("step", "global_step") == "step/.ATTRIBUTES/VARIABLE_VALUE");
  CHECK(!graph.Walk(0, "model/dense/gamma"));
  CHECK(!ReadObjectGraph(BundleReader(TestData("name_based/model.ckpt-7"))));
}

TEST_CASE("keys of variables and slots are TensorFlow's, names escaped") {
  CHECK(VariableKey({"model", "a.b", "c/d"}) == "model/a..b/c.Sd/.ATTRIBUTES/VARIABLE_VALUE");
  CHECK(SlotKey({"net", "kernel"}, {"optimizer"}, "m") ==
        "net/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE");
}

TEST_CASE("a graph of objects goes to its tensor and back, and bad numbers of nodes are refused") {
  const TemporaryFolder folder;
  ObjectGraph graph;
  graph.nodes.resize(4);
  graph.nodes[0].children = {{"net", 1}, {"optimizer", 2}};
  graph.nodes[1] = {.full_name = "kernel", .key = "net/.ATTRIBUTES/VARIABLE_VALUE"};
  graph.nodes[2].slots = {{.variable = 1, .name = "m", .node = 3}};
  const auto back = [&] {
    WriteBundle(folder.File("c"), {{std::string(kObjectGraphKey), ObjectGraphTensor(graph)}},
                {.fsync = false});
    return ReadObjectGraph(BundleReader(folder.File("c"))).value();
  };
  CHECK(back().at(*back().Walk(0, "net")).full_name == "kernel");
  CHECK(back().at(2).slots.front().node == 3);
  graph.nodes[2].slots.front().variable = 4;
  CHECK_THROWS_WITH_AS(back(), doctest::Contains("it refers to object 4 of 4"), Error);
  graph.nodes.clear();
  CHECK_THROWS_WITH_AS(back(), doctest::Contains("has no objects"), Error);
}

TEST_CASE("TensorFlow's state file names its newest checkpoint, relative to the folder") {
  const std::string folder = TestData("name_based");
  const CheckpointState state = ReadCheckpointState(folder).value();
  CHECK(state.model_checkpoint_path == folder + "/model.ckpt-7");
  CHECK(state.all_model_checkpoint_paths ==
        std::vector<std::string>{folder + "/model.ckpt-0", folder + "/model.ckpt-7"});
  CHECK(state.all_model_checkpoint_timestamps.empty());
  CHECK(LatestCheckpoint(folder) == folder + "/model.ckpt-7");
  const CheckpointState with_times = ReadCheckpointState(TestData("object_based")).value();
  CHECK(with_times.all_model_checkpoint_timestamps.size() == 2);
  CHECK(with_times.last_preserved_timestamp.has_value());
}

TEST_CASE("a state file is written as TensorFlow writes it and read back") {
  const TemporaryFolder folder;
  for (const std::string name : {"name_based", "object_based"}) {
    CheckpointState state = ReadCheckpointState(TestData(name)).value();
    const auto move_here = [&](std::string& path) { path = folder.File(BaseName(path)); };
    move_here(state.model_checkpoint_path);
    for (std::string& path : state.all_model_checkpoint_paths) move_here(path);
    WriteCheckpointState(folder.path(), state, "checkpoint", false);
    CHECK(ReadFile(folder.File("checkpoint")) == ReadFile(TestData(name + "/checkpoint")));
    CHECK(ReadCheckpointState(folder.path()) == state);
  }
  WriteCheckpointState(folder.path(), {.model_checkpoint_path = "/elsewhere/model.ckpt-2"}, "best",
                       false);
  CHECK(ReadFile(folder.File("best")) == "model_checkpoint_path: \"/elsewhere/model.ckpt-2\"\n");
  CHECK(ReadCheckpointState(folder.path(), "best")->model_checkpoint_path ==
        "/elsewhere/model.ckpt-2");
}

TEST_CASE("the newest checkpoint is the newest that is there") {
  const TemporaryFolder folder;
  CHECK(LatestCheckpoint(folder.path()) == std::nullopt);
  const CheckpointState state{
      .model_checkpoint_path = folder.File("model.ckpt-2"),
      .all_model_checkpoint_paths = {folder.File("model.ckpt-1"), folder.File("model.ckpt-2")}};
  WriteCheckpointState(folder.path(), state, "checkpoint", false);
  CHECK(ErrorOf([&] { static_cast<void>(LatestCheckpoint(folder.path())); }).code ==
        Code::kCheckpoint);
  WriteBundle(folder.File("model.ckpt-1"), {}, {.fsync = false});
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-1"));
  WriteBundle(folder.File("model.ckpt-2"), {}, {.fsync = false});
  CHECK(LatestCheckpoint(folder.path()) == folder.File("model.ckpt-2"));
  Put(folder.File("model.ckpt-2.meta"), "");
  WriteBundle(folder.File("model.ckpt-20"), {}, {.fsync = false});
  RemoveCheckpoint(folder.File("model.ckpt-2"));
  CHECK_FALSE(CheckpointExists(folder.File("model.ckpt-2")));
  CHECK(ListDirectory(folder.path()) ==
        std::vector<std::string>{"checkpoint", "model.ckpt-1.data-00000-of-00001",
                                 "model.ckpt-1.index", "model.ckpt-20.data-00000-of-00001",
                                 "model.ckpt-20.index"});
  CHECK(StepOfCheckpoint("a-b/model.ckpt-20") == 20);
  CHECK(StepOfCheckpoint("a-b/model.ckpt") == std::nullopt);
}

TEST_CASE("a checkpoint's prefix is known from each of its files") {
  for (const char* ending : {"", ".index", ".meta", ".data-00000-of-00001"}) {
    CHECK(CheckpointPrefix(std::string("a.data-1/model.ckpt-20") + ending) ==
          "a.data-1/model.ckpt-20");
  }
}

TEST_CASE("a state file that is not text of this format is refused by line and column") {
  const TemporaryFolder folder;
  Put(folder.File("checkpoint"), "model_checkpoint_path: \"a\"\nall_model_checkpoint_paths {\n");
  try {
    static_cast<void>(ReadCheckpointState(folder.path()));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kCheckpoint);
    CHECK(error.message().starts_with("this is not the text of a CheckpointState: "));
    const Place& place = error.faults()[0].place;
    CHECK(place.file == folder.File("checkpoint"));
    CHECK(place.line == 2);
    CHECK(place.column == 28);
  }
}

TEST_CASE("an index that the machine cannot open is no damaged one") {
  const TemporaryFolder folder;
  WriteBundle(folder.File("model.ckpt-1"), {{"a", Tensor::Scalar<int64_t>(1)}});
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  Code code = Code::kInternal;
  try {
    const BundleReader reader(folder.File("model.ckpt-1"));
  } catch (const Error& error) {
    code = error.code();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(code == Code::kResource);
}

}  // namespace tpuest
