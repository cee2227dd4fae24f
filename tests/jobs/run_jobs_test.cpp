// Tests the runner of whole-program tests with a shell script as tpuest.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "tests/jobs/job_case.h"
#include "tests/jobs/run_case.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

using Lines = std::vector<std::string>;

// Prints its arguments and leaves files, as a trainer would.
constexpr const char* kFakeProgram = R"(#!/bin/sh
case $1 in
  say) shift; echo "$@";;
  warn) shift; echo "$@" >&2;;
  exit) exit $2;;
  stdin) cat;;
  read) cat "$2";;
  json) echo '{"global_step": 20, "loss": 2.302585, "path": "run/model.ckpt-20", "ok": true,'
        echo ' "none": null, "metrics": {"a.b": 0.5, "top": [1, 2, 3]}}';;
  lines) echo '{"step": 1}'; echo '{"step": 2}';;
  train) mkdir run; printf same >run/a; printf same >run/b; printf other >run/c;;
  wait) trap 'echo saved >&2; exit 75' TERM; echo ready >&2; while :; do :; done;;
  hang) while :; do :; done;;
esac
)";

class FakeProgram {
 public:
  FakeProgram() {
    WriteFileAtomically(path(), kFakeProgram, false);
    REQUIRE(chmod(path().c_str(), 0700) == 0);
  }
  [[nodiscard]] std::string path() const { return folder_.File("fake"); }

 private:
  TemporaryFolder folder_;
};

// The faults of a case file with one case, without the output that follows them.
Lines FaultLines(const std::string& text) {
  const FakeProgram program;
  const std::vector<JobCase> cases = ParseCases("case.yaml", text);
  REQUIRE(cases.size() == 1);
  const CaseOptions options{.program = program.path(), .source_root = "/nowhere"};
  Lines faults;
  for (const std::string& line : RunCase(cases.front(), options)) {
    if (!StartsWith(line, "    ")) faults.push_back(line);
  }
  return faults;
}

std::string Refusal(const std::string& text) {
  try {
    (void)ParseCases("case.yaml", text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("a case whose steps do as expected passes") {
  CHECK(FaultLines(R"(
x-expect:
  - command: say hello 'two  words'
    stdout: [hello, "two  words", "/^hello .*words$/"]
    not_stdout: ["/words hello/", bye]
  - {command: warn careful, stderr: careful, not_stderr: [reckless]}
  - {command: exit 3, code: 3}
  - {command: stdin, stdin: "from here", stdout: from here}
  - {command: "say $WHO in $TESTDATA", env: {WHO: me}, stdout: "/^me in .nowhere.tests.testdata$/"}
)") == Lines{});
}

TEST_CASE("a step that does otherwise is named with what was expected and found") {
  CHECK(FaultLines("x-expect:\n  - {command: say hello}\n  - {command: exit 0, code: 2}\n") ==
        Lines{"case.yaml: step 2 (line 3): expected exit 2, found 0"});
  CHECK(FaultLines("x-expect: [{command: say hello, stdout: bye, not_stdout: [/^hell/]}]") ==
        Lines{"case.yaml: step 1 (line 1): stdout has no 'bye'",
              "case.yaml: step 1 (line 1): stdout should not have '/^hell/'"});
  CHECK(FaultLines("x-expect: [{command: warn hello, stdout: hello, not_stderr: hello}]").size() ==
        2);
  CHECK(FaultLines("x-expect: [{command: say hello, stdout: '/(/'}]").size() == 1);
}

TEST_CASE("the steps after one with a fault do not run") {
  CHECK(FaultLines("x-expect: [{command: exit 1}, {command: exit 2}]") ==
        Lines{"case.yaml: step 1 (line 1): expected exit 0, found 1"});
}

TEST_CASE("a fault comes with the command and the end of its output") {
  const FakeProgram program;
  const auto cases =
      ParseCases("case.yaml", "x-expect: [{shell: 'seq 20; echo gone wrong >&2; exit 1'}]");
  const Lines report = RunCase(cases.front(), {.program = program.path(), .source_root = "/"});
  REQUIRE(report.size() == 19);
  CHECK(report[1] == "    $ seq 20; echo gone wrong >&2; exit 1");
  CHECK(report[2] == "    stdout: ... 5 lines before");
  CHECK(report[3] == "    stdout: 6");
  CHECK(report[18] == "    stderr: gone wrong");
}

TEST_CASE("the job is the document itself under its file's name, and JOB stands for it") {
  CHECK(
      FaultLines("version: 1\nx-expect:\n"
                 "  - {command: read JOB, stdout: ['/^version: 1$/', x-expect]}\n"
                 "  - {command: say JOB JOBS ./JOB, stdout: /^case.yaml JOBS .\\/case.yaml$/}\n") ==
      Lines{});
}

TEST_CASE("values in JSON on stdout are reached by path and compared") {
  CHECK(FaultLines(R"(
x-expect:
  - command: json
    json:
      global_step: 20
      loss: {near: 2.3026, tol: 1e-4}
      path: run/model.ckpt-20
      ok: true
      none: null
      metrics: {length: 2, contains: a.b}
      metrics.top: [1, 2, 3]
      metrics.top.-1: {min: 3, max: 3}
      /metrics/a.b: 0.5
      absent: {exists: false}
  - {command: lines, json: {"": {length: 2}, 0.step: 1, -1.step: 2}}
)") == Lines{});
}

TEST_CASE("values in JSON that differ are named with both") {
  const Lines faults = FaultLines(R"(
x-expect:
  - command: json
    json:
      global_step: "20"
      loss: {near: 2.3026, tol: 1e-6}
      ok: false
      path: {contains: best}
      metrics.top: [1, 2]
      metrics.top.3: 1
      none: {exists: false}
      metrics: {lenght: 2}
)");
  REQUIRE(faults.size() == 8);
  CHECK(EndsWith(faults[0], "stdout global_step: expected \"20\", found 20"));
  CHECK(EndsWith(faults[1], "stdout loss: expected {near: 2.3026, tol: 1e-6}, found 2.302585"));
  CHECK(EndsWith(faults[4], "stdout metrics.top: expected [1, 2], found [1,2,3]"));
  CHECK(EndsWith(faults[5], "stdout metrics.top.3 is not there"));
  CHECK(EndsWith(faults[7], "stdout metrics: there is no condition 'lenght'"));
  CHECK(FaultLines("x-expect: [{command: 'say {', json: {a: 1}}]").front() ==
        "case.yaml: step 1 (line 1): stdout is not JSON");
}

TEST_CASE("files are looked for and compared byte by byte") {
  CHECK(FaultLines(R"(
x-expect:
  - command: train
    files: [run/a, run/*]
    no_files: [run/*.tmp]
    same_bytes: [[run/a, run/b]]
    different_bytes: [[run/a, run/c]]
  - {write: out/metrics.jsonl, text: "{\"step\": 1}\n{\"step\": 2}\n"}
  - {shell: "true", json_files: {out/*.jsonl: {-1.step: 2}}}
)") == Lines{});
  CHECK(FaultLines(R"(
x-expect:
  - command: train
    files: [run/d]
    no_files: [run/a]
    same_bytes: [[run/a, run/c], [run/a, run/d], [run/*, run/a]]
    different_bytes: [[run/a, run/b]]
)") == Lines{"case.yaml: step 1 (line 3): run/d is not there",
             "case.yaml: step 1 (line 3): run/a should not be there",
             "case.yaml: step 1 (line 3): run/a and run/c differ",
             "case.yaml: step 1 (line 3): run/d: expected one file, found 0",
             "case.yaml: step 1 (line 3): run/*: expected one file, found 3",
             "case.yaml: step 1 (line 3): run/a and run/b are the same"});
}

TEST_CASE("a shell step may call the program in a loop") {
  CHECK(FaultLines(R"(
x-expect:
  - shell: for step in 1 2; do tpuest say "{\"step\":" $step "}" || exit; done
    json: {1.step: 2}
)") == Lines{});
}

TEST_CASE("a signal is sent once its text or file is there") {
  CHECK(FaultLines("x-expect: [{command: wait, signal: {send: TERM, after: ready}, code: 75, "
                   "stderr: saved}]") == Lines{});
  CHECK(FaultLines("x-expect: [{shell: 'echo >there; tpuest wait', code: 137, "
                   "signal: {send: KILL, after_file: the*}}]") == Lines{});
  CHECK(FaultLines("x-expect: [{command: say no, signal: {send: TERM, after: ready}}]") ==
        Lines{"case.yaml: step 1 (line 1): ended before its signal was due"});
}

TEST_CASE("a step past its limit is killed with all that it started") {
  CHECK(FaultLines("x-expect: [{shell: 'tpuest hang & wait', limit_s: 0.05}]") ==
        Lines{"case.yaml: step 1 (line 1): took more than 0.05 s and was killed"});
}

TEST_CASE("a command of plain words needs no shell, one with an expansion or a pipe does") {
  const auto words_of = [](const std::string& command) {
    const std::string text = "x-expect:\n  - command: >-\n      " + command + "\n";
    return ParseCases("case.yaml", text)[0].steps[0].words;
  };
  CHECK(words_of("train JOB max_steps=3  -q") ==
        Lines{"tpuest", "train", "case.yaml", "max_steps=3", "-q"});
  CHECK(words_of(R"(say 'a=[{b: c}]' x"y z" "")") ==
        Lines{"tpuest", "say", "a=[{b: c}]", "xy z", ""});
  for (const char* command : {"say $HOME", "say a | cat", "say *.yaml", R"(say "$HOME")",
                              "say {a,b}", "say a >b", R"(say a\ b)", "say 'open"}) {
    CHECK_MESSAGE(words_of(command) == Lines{}, command);
  }
}

TEST_CASE("a file holds cases between lines of ---, each with its claim, suite and lines") {
  const auto cases = ParseCases("all.yaml",
                                "# of the runner\n---\nname: one\nx-case: first\n"
                                "x-expect: [{command: a}]\n---\nname: two\nx-suite: all\n"
                                "x-expect:\n  - {command: b}\n");
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "all.yaml: first");
  CHECK(cases[0].suite == "quick");
  CHECK(cases[0].steps[0].line == 5);
  CHECK(cases[1].name == "all.yaml");
  CHECK(cases[1].suite == "all");
  CHECK(StartsWith(cases[1].job, "name: two\n"));
  CHECK(cases[1].steps[0].line == 10);
}

TEST_CASE("a document of x-* keys alone has the job of the case before it") {
  const auto cases = ParseCases("all.yaml",
                                "x-expect: [{command: a}]\n---\nname: one\n"
                                "x-expect: [{command: b}]\n---\nx-case: again\n"
                                "x-expect: [{command: c}]\n");
  REQUIRE(cases.size() == 3);
  CHECK(cases[0].job == "x-expect: [{command: a}]\n");
  CHECK(cases[2].job == cases[1].job);
  CHECK(cases[2].steps[0].line == 7);
}

TEST_CASE("a byte is inverted where a step says so") {
  CHECK(FaultLines(R"(
x-expect:
  - {write: data, text: "abc"}
  - {flip: data, at: 1}
  - {flip: data, at: -1}
  - shell: printf 'a\235\234' | cmp - data
)") == Lines{});
  const FakeProgram program;
  const auto cases = ParseCases("case.yaml", "x-expect: [{write: a, text: b}, {flip: a, at: 1}]");
  CHECK_THROWS_AS((void)RunCase(cases[0], {.program = program.path(), .source_root = "/"}), Error);
}

TEST_CASE("a case that is not one is refused with its line") {
  CHECK(Refusal("version: 1\n") == "case.yaml:1: a case needs 'x-expect' at its top level");
  CHECK(Refusal("# nothing\n") == "case.yaml: holds no case");
  CHECK(Refusal("x-expect: []\n") == "case.yaml:1: x-expect is a list of at least one step");
  CHECK(Refusal("x-expect:\n  - {command: a, cod: 1}\n") == "case.yaml:2: a step has no key 'cod'");
  CHECK(Refusal("x-expect:\n  - {command: a, code: one}\n") ==
        "case.yaml:2: 'code' of a step cannot be this");
  CHECK(Refusal("x-expect:\n  - {code: 1}\n") ==
        "case.yaml:2: a step has one of 'command', 'shell', 'write', 'flip'");
  CHECK(Refusal("x-expect:\n  - {command: a, shell: b}\n") ==
        "case.yaml:2: a step has one of 'command', 'shell', 'write', 'flip'");
  CHECK(Refusal("x-suite: long\nx-expect: [{command: a}]\n") ==
        "case.yaml:1: x-suite is all or bench");
  CHECK(Refusal("x-expect:\n  - {command: a, signal: {send: TERM}}\n") ==
        "case.yaml:2: signal needs 'send' and one of 'after', 'after_file'");
  CHECK(Refusal("a: 1\n---\nb: [\n").find("case.yaml:") == 0);
}

}  // namespace
}  // namespace tpuest
