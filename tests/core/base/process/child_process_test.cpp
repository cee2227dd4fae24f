#include "core/base/process/child_process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

ProgramCall Shell(const std::string& script) { return {.words = {"sh", "-c", script}}; }

TEST_CASE("a program is found by its name and leaves with its code") {
  CHECK(ChildProcess(Shell("exit 3")).Wait().code == 3);
  CHECK(ChildProcess({.words = {"another name", "-c", "exit 4"}, .program = "sh"}).Wait().code ==
        4);
}

TEST_CASE("a program reads its input and its environment, and its output is kept") {
  ChildProcess child({.words = {"sh", "-c", "cat; echo $GREETING; echo aside >&2"},
                      .variables = {"GREETING=hello"},
                      .input = "a line\n",
                      .answers = true});
  CHECK(child.Wait().code == 0);
  CHECK(child.Output() == "a line\nhello\n");
}

TEST_CASE("a signal is distinguished from an exit code") {
  const ProcessEnd end = ChildProcess(Shell("kill -TERM $$")).Wait();
  CHECK(end.signal == SIGTERM);
  CHECK(end.ShellCode() == 128 + SIGTERM);
  CHECK(ProcessEnd{.code = 7}.ShellCode() == 7);
}

TEST_CASE("a program that is not there is not started") {
  try {
    const ChildProcess child({.words = {"nowhere/to-be-found", "now"}});
    FAIL("it was started");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kResource);
    CHECK(error.message() ==
          "'nowhere/to-be-found now' could not be started: No such file or directory");
  }
}

TEST_CASE("what it says is added to its log, and its input is empty") {
  const TemporaryFolder folder;
  ProgramCall call = Shell("cat; echo out; echo err >&2");
  call.log = folder.File("log");
  for (int i = 0; i < 2; ++i) CHECK(ChildProcess(call).Wait().code == 0);
  CHECK(ReadFile(*call.log) == "out\nerr\nout\nerr\n");
  call.log = folder.File("none/log");
  CHECK_THROWS_AS(ChildProcess(call).Wait(), const Error&);
}

TEST_CASE("a supervised child is reached with its group, and is waited for") {
  ProgramCall call = Shell("sleep 60 & wait");
  call.supervised = true;
  ChildProcess child(call);
  CHECK_FALSE(child.Poll());
  child.Signal(SIGINT);
  child.Signal(SIGTERM);
  CHECK(child.Wait().signal != 0);
}

TEST_CASE("a program that ends with this one is ended with its group, even if it ignores SIGTERM") {
  const TemporaryFolder folder;
  const std::string pids = folder.File("pids");
  {
    ProgramCall call = Shell(fmt::format(
        "trap '' TERM; sleep 60 & echo $! >{0}.part; mv {0}.part {0}; wait; sleep 60", pids));
    call.ends_with_us = true;
    const ChildProcess child(call);
    while (!FileExists(pids)) usleep(1000);
  }
  const auto sleeper = static_cast<pid_t>(std::stoi(ReadFile(pids)));
  while (kill(sleeper, 0) == 0) usleep(1000);  // until init has reaped it
}

TEST_CASE("a program that is waited for gets a signal once") {
  ProgramCall call = Shell("trap 'exit 5' INT; while :; do sleep 0.01; done");
  call.ends_with_us = true;
  ChildProcess child(call);
  usleep(50'000);
  int asked = 0;
  const ProcessEnd end = child.Wait([&]() -> std::optional<int> {
    ++asked;
    return SIGINT;
  });
  CHECK((end.code == 5 || end.signal == SIGINT));
  CHECK(asked == 1);
}

TEST_CASE("a copy of this process answers, dies without an answer, or is not waited for") {
  ChildProcess answers([] { return std::string("found"); });
  CHECK(answers.Answer(60) == "found");
  CHECK(answers.Wait().ShellCode() == 0);
  ChildProcess dies([]() -> std::string {
    raise(SIGKILL);
    return "not said";
  });
  CHECK(dies.Answer(60) == "");
  CHECK(dies.Wait().signal == SIGKILL);
  ChildProcess hangs([] {
    pause();
    return std::string();
  });
  CHECK(hangs.Answer(0) == std::nullopt);
}

}  // namespace
}  // namespace tpuest
