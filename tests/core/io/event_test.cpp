#include "core/io/events/event_reader.h"
#include "core/io/events/event_writer.h"
#include "core/io/events/hparams.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

using Kind = EventData::Kind;

const std::string kTheirs = TestData("events/events.out.tfevents.1700000000.host");

HistogramData ExpectedHistogram() {
  const nlohmann::json& h = Expected("events").at("histogram");
  return {h.at("min"),         h.at("max"),    h.at("num"),   h.at("sum"),
          h.at("sum_squares"), h.at("limits"), h.at("counts")};
}

std::vector<std::string> Strings(const SummaryValue& value) {
  const auto strings = std::get<Tensor>(value.value).strings();
  return {strings.begin(), strings.end()};
}

}  // namespace

TEST_CASE("hyperparameters are a summary of TensorBoard's plugin") {
  const SummaryValue start = HParamsStart({{"lr", 0.5}, {"act", "relu"}, {"bn", true}}, 7);
  CHECK(start.tag == "_hparams_/session_start_info");
  CHECK(start.plugin_name == "hparams");
  // HParamsPluginData.session_start_info (3): a map entry (1) with a google.protobuf.Value (number
  // 2, string 3, bool 4) each, in no promised order, and start_time_secs (5).
  const auto has = [&](std::string_view part) {
    return start.plugin_content.find(part) != std::string::npos;
  };
  using namespace std::string_view_literals;
  CHECK(has("\n\x02lr\x12\x09\x11\0\0\0\0\0\0\xe0\x3f"sv));
  CHECK(
      has("\n\x03"
          "act\x12\x06\x1a\x04relu"sv));
  CHECK(
      has("\n\x02"
          "bn\x12\x02\x20\x01"sv));
  CHECK(has("\x29\0\0\0\0\0\0\x1c\x40"sv));
  CHECK(HParamsEnd(7).tag == "_hparams_/session_end_info");
}

TEST_CASE("TensorFlow's events are read, of every kind") {
  EventReader reader(kTheirs);
  std::vector<EventData> events = ReadEvents(kTheirs);
  REQUIRE(events.size() == 10);
  std::vector<int64_t> steps;
  for (const EventData& event : events) {
    steps.push_back(event.step);
    CHECK(event.wall_time == 1700000000.0 + static_cast<double>(event.step));
  }
  CHECK(steps == std::vector<int64_t>{0, 0, 0, 0, 1, 1, 2, 3, 4, 5});
  CHECK(events[0].kind == Kind::kFileVersion);
  CHECK(events[0].bytes == "brain.Event:2");
  CHECK(events[1].kind == Kind::kGraph);
  CHECK(events[1].bytes == FromHex(Expected("events").at("graph_def")));
  CHECK(events[2].kind == Kind::kMetaGraph);
  CHECK(events[2].bytes == FromHex(Expected("events").at("meta_graph_def")));
  CHECK(events[3].session_log.status == SessionLogData::Status::kCheckpoint);
  CHECK(events[3].session_log.checkpoint_path == "dir/model.ckpt");
  CHECK(events[4].session_log.status == SessionLogData::Status::kStart);
  REQUIRE(events[5].values.size() == 2);
  CHECK(events[5].values[0].tag == "loss");
  CHECK(std::get<float>(events[5].values[0].value) == 0.625F);
  CHECK(std::get<HistogramData>(events[6].values[0].value) == ExpectedHistogram());
  CHECK(events[7].values[0].plugin_name == "text");
  CHECK(Strings(events[7].values[0]) == std::vector<std::string>{"one", "two"});
  CHECK(Strings(events[8].values[0]) == std::vector<std::string>{"model.ckpt-7"});
  CHECK(SameBits(std::get<Tensor>(events[9].values[0].value),
                 Tensor::Of<float>({2, 2}, {1, 2, 3, 4})));
}

TEST_CASE("histograms have TensorFlow's buckets") {
  const std::vector<double> data = Expected("events").at("data");
  CHECK(HistogramOf(Tensor::Of<double>({static_cast<int64_t>(data.size())}, data)) ==
        ExpectedHistogram());
}

TEST_CASE("the same events give TensorFlow's bytes") {
  const TemporaryFolder folder;
  const nlohmann::json& expected = Expected("events");
  const std::vector<double> data = expected.at("data");
  const double t = 1700000000.0;
  EventWriter writer(folder.path(), t, ".suffix");
  writer.Graph(t, 0, FromHex(expected.at("graph_def")));
  writer.MetaGraph(t, 0, FromHex(expected.at("meta_graph_def")));
  writer.SessionLog(t, 0, {SessionLogData::Status::kCheckpoint, "dir/model.ckpt", ""});
  writer.SessionLog(t + 1, 1, {.status = SessionLogData::Status::kStart});
  writer.Summary(t + 1, 1, {{"loss", 0.625F, "", ""}, {"accuracy", 0.5F, "", ""}});
  writer.Summary(t + 2, 2, {{"weights", ExpectedHistogram(), "", ""}});
  writer.Text(t + 3, 3, "notes", {"one", "two"});
  writer.String(t + 4, 4, "checkpoint_path", "model.ckpt-7");
  writer.Summary(t + 5, 5, {{"matrix", Tensor::Of<float>({2, 2}, {1, 2, 3, 4}), "", ""}});
  writer.Flush();
  CHECK(BaseName(writer.path()).starts_with("events.out.tfevents.1700000000."));
  CHECK(writer.path().ends_with(".suffix"));
  CHECK(ReadFile(writer.path()) == ReadFile(kTheirs));
}

TEST_CASE("an event file begins with its version and grows with each flush") {
  const TemporaryFolder folder;
  EventWriter writer(folder.File("eval"), 12.5);
  const std::string path = writer.path();
  CHECK(BaseName(path).starts_with("events.out.tfevents.0000000012."));
  CHECK(ReadEvents(path).size() == 1);
  writer.Scalar(13, 1, "loss", 2);
  CHECK(ReadEvents(path).size() == 1);
  writer.Flush();
  writer.Scalar(14, 2, "loss", 1);
  writer.Flush();
  const std::vector<EventData> events = ReadEvents(path);
  REQUIRE(events.size() == 3);
  CHECK(events[0].bytes == "brain.Event:2");
  CHECK(events[2].step == 2);
  CHECK(std::get<float>(events[2].values.at(0).value) == 1);
}

TEST_CASE("two writers that begin in one second have a file each, in order") {
  const TemporaryFolder folder;
  EventWriter first(folder.path(), 100);
  EventWriter second(folder.path(), 100.5);
  CHECK(EventFiles(folder.path()) == std::vector<std::string>{first.path(), second.path()});
  CHECK(EventFiles(folder.File("none")).empty());
}

TEST_CASE("a new file sorts after existing files even if the clock was set back") {
  const TemporaryFolder folder;
  EventWriter first(folder.path(), 5000);
  EventWriter second(folder.path(), 100);
  CHECK(EventFiles(folder.path()) == std::vector<std::string>{first.path(), second.path()});
}

TEST_CASE("a file that was cut gives what is whole and tells the rest") {
  const TemporaryFolder folder;
  const std::string whole = ReadFile(kTheirs);
  Put(folder.File("cut"), whole.substr(0, whole.size() - 1));
  EventReader reader(folder.File("cut"));
  EventData event;
  int count = 0;
  while (reader.Next(event)) ++count;
  CHECK(count == 9);
  CHECK(reader.damage().find("cut: record 9 at byte ") != std::string::npos);
  CHECK(reader.damage().find("is cut short") != std::string::npos);
  CHECK_FALSE(reader.Next(event));
}

}  // namespace tpuest
