#include <doctest/doctest.h>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

TEST_CASE("a duplicate key is named with both its places, and the first value stays") {
  const Outcome outcome = ReadSample("version: 1\nrun: {keep: 3, keep: 4}\nversion: 2\n");
  CHECK(FaultLines(outcome) == "2:16 duplicate key 'keep'\n3:1 duplicate key 'version'\n");
  CHECK(outcome.faults[0].hint == "the first one is at job.yaml:2:7");
  CHECK(outcome.job.run.keep == 3);
  CHECK(outcome.job.version == 1);
}

TEST_CASE("a merge key fills in what the section does not say itself") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "inputs:\n"
      "  train: &train {files: [/a], repeat: -1, shuffle: 5}\n"
      "  test:\n"
      "    <<: *train\n"
      "    repeat: 1\n");
  REQUIRE(outcome.faults.empty());
  const Input& test = outcome.job.inputs.at("test");
  CHECK(test.files == std::vector<std::string>{"/a"});
  CHECK(test.repeat == 1);
  CHECK(std::get<int64_t>(test.shuffle) == 5);
  CHECK(outcome.job.inputs.at("train").repeat == -1);
}

TEST_CASE("the first of several merged sections wins, for any position of the merge key") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "x-a: &a {keep: 1, save_every: 2}\n"
      "x-b: &b {keep: 3, save_every: 4, model_dir: m}\n"
      "run:\n"
      "  save_every: 9\n"
      "  <<: [*a, *b, {model_dir: n}]\n");
  REQUIRE(outcome.faults.empty());
  CHECK(outcome.job.run.keep == 1);
  CHECK(outcome.job.run.save_every.value == 9);
  CHECK(outcome.job.run.model_dir == "m");
}

TEST_CASE("a merge key takes only sections, and may appear once") {
  CHECK(FaultLines(ReadSample("version: 1\n<<: 3\n")) ==
        "2:1 '<<' merges sections: expected an alias of a section, or a list of such aliases\n");
  CHECK(FaultLines(ReadSample("version: 1\nrun:\n  <<: {keep: 1}\n  <<: {keep: 2}\n")) ==
        "4:3 duplicate key '<<'\n");
}

TEST_CASE("a fault in an anchored section is reported once") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "inputs:\n"
      "  train: &train {files: [/a], repeat: x, colour: 1}\n"
      "  test: {<<: *train}\n");
  CHECK(FaultLines(outcome) ==
        "3:39 inputs.train.repeat: expected an integer, found 'x'\n"
        "3:42 unknown key 'colour' in inputs.train\n");
}

TEST_CASE("x- keys hold anchors at the top level, and are unknown elsewhere") {
  const Outcome outcome = ReadSample("version: 1\nx-rates: &r [1, 2]\nrates: *r\nrun: {x-a: 1}\n");
  CHECK(FaultLines(outcome) == "4:7 unknown key 'x-a' in run\n");
  CHECK(outcome.job.rates == std::vector<double>{1, 2});
}

TEST_CASE("invalid YAML is a fault with its place") {
  const auto faults = [](std::string_view text) { return FaultLines(ReadSample(text)); };
  CHECK(faults("version: 1\nrun:\n\tkeep: 3\n") == "3:1 a tab cannot indent YAML\n");
  CHECK(faults("version: 1\nname: a: b\n") == "2:8 a ':' is not allowed here\n");
  CHECK(faults("version: 1\nrates: [1, 2\nname: x\n") ==
        "3:5 expected ',' or ']' here to continue or close the '[' before\n");
  CHECK(faults("version: 1\nname: \"abc\n") == "2:7 the closing quote is missing\n");
  CHECK(faults("version: 1\nname: 'it''s\n") == "2:7 the closing quote is missing\n");
  CHECK(faults("version: 1\nrates: *nope\n") == "2:8 no anchor of this name is defined above\n");
  CHECK(faults("version: 1\nname: @x\n") == "2:7 unexpected character\n");
}

TEST_CASE("YAML that a job does not allow is a fault with its place") {
  const auto faults = [](std::string_view text) { return FaultLines(ReadSample(text)); };
  CHECK(faults("version: 1\nname: !!str 3\n") ==
        "2:7 the tag 'tag:yaml.org,2002:str' has no meaning here\n");
  CHECK(faults("version: 1\n---\nversion: 1\n") == "2:1 a second YAML document starts here\n");
  CHECK(faults("version: 1\nparams: &p {a: *p}\n") ==
        "2:16 an anchor cannot be used inside itself\n");
  CHECK(faults("version: 1\n? [a]\n: 3\n") == "2:3 a key must be a word\n");
  CHECK(faults("version: 1\n~: 3\n") == "2:1 a key must be a word\n");
}

TEST_CASE("a root that is not a section, and an empty file") {
  CHECK(FaultLines(ReadSample("- 1\n")) == "1:1 expected a job, a section of keys; found a list\n");
  CHECK(FaultLines(ReadSample("hello\n")) ==
        "1:1 expected a job, a section of keys; found 'hello'\n");
  CHECK(FaultLines(ReadSample("")) == "1:1 missing key 'version' at the top level\n");
  CHECK(FaultLines(ReadSample("# only this\n")) == "1:1 missing key 'version' at the top level\n");
}

TEST_CASE("a byte order mark and any kind of newline do not move places") {
  CHECK(FaultLines(ReadSample("\xEF\xBB\xBF"
                              "colour: 1\nversion: 1\n")) ==
        "1:1 unknown key 'colour' at the top level\n");
  CHECK(FaultLines(ReadSample("version: 1\r\nname: x\r\nbatch: no\r\n")) ==
        "3:8 batch: expected an integer, found 'no'\n");
  CHECK(FaultLines(ReadSample("version: 1\rbatch: no\r")) ==
        "2:8 batch: expected an integer, found 'no'\n");
  CHECK(ReadSample("version: 1\r\nname: x\r\n").job.name == "x");
}

TEST_CASE("columns count characters, not bytes") {
  const Outcome outcome = ReadSample("version: 1\nparams: {é: [ü, x], é: 1}\n");
  CHECK(FaultLines(outcome) == "2:21 duplicate key 'é'\n");
}

TEST_CASE("a surrogate pair of JSON in double quotes is one character") {
  const auto name = [](const std::string& text) {
    const Outcome outcome = ReadSample("version: 1\nname: " + text + "\n");
    CHECK(FaultLines(outcome).empty());
    return outcome.job.name;
  };
  CHECK(name(R"("a\ud83d\ude00b")") == "a\U0001f600b");
  CHECK(name(R"("\uD83D\uDE00\ud800\udc00\udbff\udfff")") == "\U0001f600\U00010000\U0010ffff");
  CHECK(name(R"("\u00e9\ue03d\ue600")") == "\u00e9\ue03d\ue600");
  CHECK(name("&n \"a\n  \\ud83d\\ude00\"") == "a \U0001f600");
  // In other strings a backslash has no special meaning.
  CHECK(name(R"("\\ud83d\\ude00 \ud83d\ude00")") == R"(\ud83d\ude00 )"
                                                    "\U0001f600");
  CHECK(name(R"('\ud83d\ude00')") == R"(\ud83d\ude00)");
  CHECK(name(R"(x"\ud83d\ude00" # "\ud83d)") == R"(x"\ud83d\ude00")");
  CHECK(name("|-\n  \"\\ud83d\"") == R"("\ud83d")");
  CHECK(ReadSample(R"({"version": 1, "params": {"\ud83d\ude00": [1, 2]}})")
            .job.params.contains("\U0001f600"));
}

TEST_CASE("half of a surrogate pair is refused at its place") {
  const auto faults = [](const std::string& text) {
    return FaultLines(ReadSample("version: 1\nname: " + text + "\n"));
  };
  CHECK(faults(R"("a\ud83d")") ==
        "2:9 '\\ud83d' is half of a surrogate pair, without its other half\n");
  CHECK(faults(R"("\ude00\ud83d")") ==
        "2:8 '\\ude00' is half of a surrogate pair, without its other half\n");
  CHECK(faults(R"("\ud83d\ud83d\ude00")") ==
        "2:8 '\\ud83d' is half of a surrogate pair, without its other half\n");
  CHECK(faults(R"("\ud83d \ude00")") ==
        "2:8 '\\ud83d' is half of a surrogate pair, without its other half\n");
  CHECK(faults(R"("\ud83d\u0041")") ==
        "2:8 '\\ud83d' is half of a surrogate pair, without its other half\n");
}

TEST_CASE("surrogate pairs before a fault do not move its place") {
  CHECK(FaultLines(ReadSample(
            "{version: 1, name: \"\\ud83d\\ude00\\ud83d\\ude00\",\n"
            " params: {\"\\ud83d\\ude00\": [1], \"\\ud83d\\ude00\": [2]}, batch: x}\n")) ==
        "2:32 duplicate key '\U0001f600'\n2:61 batch: expected an integer, found 'x'\n");
  CHECK(FaultLines(ReadSample("version: 1\nname: \"\\ud83d\\ude00\\q\"\n")) ==
        "2:22 not YAML: unknown escape character: q\n");
}

TEST_CASE("text that is not UTF-8 is refused at its first wrong byte") {
  const auto faults = [](std::string_view text) { return FaultLines(ReadSample(text)); };
  CHECK(faults("version: 1\nname: a\xFF\n") == "2:8 byte 0xff is not UTF-8\n");
  CHECK(faults("version: 1\nname: \xC0\xAF\n") == "2:7 byte 0xc0 is not UTF-8\n");
  CHECK(faults("version: 1\nname: \xED\xA0\x80\n") == "2:7 byte 0xed is not UTF-8\n");
  CHECK(faults(std::string_view("version: 1\nname: a\0b\n", 21)) ==
        "2:8 byte 0x00 is a control character\n");
}

TEST_CASE("nesting and aliases of aliases are bounded") {
  const std::string deep =
      "version: 1\nextra: " + std::string(63, '[') + std::string(63, ']') + "\n";
  CHECK(ReadSample(deep).faults.empty());
  const std::string deeper =
      "version: 1\nextra: " + std::string(64, '[') + std::string(64, ']') + "\n";
  CHECK(FaultLines(ReadSample(deeper)) == "2:71 sections nest deeper than 64 levels\n");
  CHECK_FALSE(ReadSample("version: 1\nextra: " + std::string(100'000, '[')).faults.empty());

  std::string laughs = "version: 1\nx-0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "x-" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 1; k < 8; ++k) laughs += ", " + last;
    laughs += "]\n";
  }
  const Outcome outcome = ReadSample(laughs);
  REQUIRE(outcome.faults.size() == 1);
  CHECK(outcome.faults[0].message == "the job has more than 200000 values");
}

TEST_CASE("a key path leads to its place, or to its nearest parent's") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "run:\n"
      "  cores: {shards: 8}\n"
      "params: {a.b: 1, img/raw: 2}\n"
      "inputs:\n"
      "  train:\n"
      "    files: [/a]\n"
      "    map:\n"
      "      - {op: scale, by: 2}\n"
      "      - {op: crop, size: [1, 2]}\n");
  REQUIRE(outcome.faults.empty());
  const auto place = [&](std::string_view path) -> std::string {
    const std::optional<Span> span = FindPlace(outcome.tree, path);
    if (!span) return "none";
    return std::to_string(span->place.line) + ":" + std::to_string(span->place.column);
  };
  CHECK(place("run.cores.shards") == "3:19");
  CHECK(place("run.cores.per_loop") == "3:3");
  CHECK(place("run.nothing.at.all") == "2:1");
  CHECK(place("inputs.train.map[1].op") == "10:14");
  CHECK(place("inputs.train.map.1.size") == "10:20");
  CHECK(place("inputs.train.map[1]") == "10:9");
  CHECK(place("inputs.train.map[2].op") == "8:5");
  CHECK(place("params.a.b") == "4:15");
  CHECK(place("params.img/raw") == "4:27");
  CHECK(place("colour") == "none");
  CHECK(FindNode(outcome.tree, "run.cores.shards")->text == "8");
  CHECK(FindNode(outcome.tree, "run.cores.x") == nullptr);
}

TEST_CASE("a later fault gets its place from its key") {
  const Outcome outcome = ReadSample("version: 1\nbatch: 6\n");
  std::vector<Fault> faults = {Fault{"too small", "", "batch", {}, 0}, Fault{"odd", "", "", {}, 0},
                               Fault{"none", "", "eval.input", {}, 0}};
  Locate(outcome.tree, faults);
  CHECK(faults[0].place.line == 2);
  CHECK(faults[0].place.column == 8);
  CHECK(faults[0].width == 1);
  CHECK(faults[1].place.file.empty());
  CHECK(Render(faults[2], Sources()) == "job.yaml: error: none\n");
}

}  // namespace
}  // namespace tpuest::config
