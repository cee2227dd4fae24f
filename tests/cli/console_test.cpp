// Tests the terminal output of a run, with a clock that the test sets.

#include "cli/shell/console.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "cli/run/session.h"
#include "cli/shell/guarded.h"
#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override { return now; }
  [[nodiscard]] double Seconds() const override { return now; }
  double now = 0;
};

// Returns what `body` writes to stderr.
template <class Body>
std::string StderrOf(Body body) {
  const TemporaryFolder folder;
  const std::string path = folder.File("stderr");
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ::dup2(file, STDERR_FILENO);
  body();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  return ReadFile(path);
}

int Count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Reports every `period` seconds for `seconds` seconds, with a log line every `every` reports.
std::string Watched(Toggle progress, double period, double seconds, int every) {
  return StderrOf([&] {
    Invocation invocation;
    invocation.progress = progress;
    ManualClock clock;
    Console console(invocation, clock);
    const int reports = static_cast<int>(seconds / period);
    for (int i = 0; i < reports; ++i) {
      clock.now = i * period;
      console.Report({.activity = "train", .step = i, .goal = reports});
      if (every > 0 && i % every == 0) console.log().Info("line");
    }
  });
}

TEST_CASE("a status line is drawn at most ten times a second, also between log lines") {
  const std::string quiet = Watched(Toggle::kAlways, 0.001, 2, 0);
  CHECK(Count(quiet, "step ") <= 20);
  CHECK(Count(quiet, "step ") >= 18);
  const std::string busy = Watched(Toggle::kAlways, 0.001, 2, 2);
  CHECK(Count(busy, "step ") <= 20);
  CHECK(Count(busy, "line\n") == 1000);
  // A line follows another line, or the erasing of the status line.
  CHECK(Count(busy, "\x1b[Kline\n") + Count(busy, "\nline\n") == 1000);
}

TEST_CASE("without a terminal a plain line is printed per minute if nothing else is logged") {
  const std::string plain = Watched(Toggle::kNever, 1, 600, 0);
  CHECK(Count(plain, "\n") == 9);
  CHECK(Count(plain, "step 60/600") == 1);
  CHECK(Count(plain, "\r") == 0);
  CHECK(Count(Watched(Toggle::kNever, 1, 600, 30), "step ") == 0);
}

TEST_CASE("a narrow status line keeps the remaining time") {
  const ProgressReport report{.activity = "train",
                              .step = 1200,
                              .goal = 20000,
                              .loss = 0.231F,
                              .examples_per_sec = 6200,
                              .input_wait = 0.03,
                              .next_evaluation = 2000,
                              .last_checkpoint = 1000};
  CHECK(StatusText(report, 130) ==
        "step 1,200/20,000  loss 0.231  6.2k ex/s  input-wait 3%  eval in 800  ckpt 1000  ETA "
        "2m10s");
  CHECK(StatusText(report, 130, 79) ==
        "step 1,200/20,000  loss 0.231  6.2k ex/s  input-wait 3%  eval in 800  ETA 2m10s");
  CHECK(StatusText(report, 130, 41) == "step 1,200/20,000  loss 0.231  ETA 2m10s");
  CHECK(StatusText(report, 130, 39) == "step 1,200/20,000  ETA 2m10s");
}

TEST_CASE("at most one step per second is printed, and no redundant lines") {
  Speech speech;
  CHECK(speech.Shown("loss = 2.5, step = 0", 10) == "step 0  loss 2.500");
  CHECK(speech.Shown("loss = 1.5, step = 100 (0.5 sec)", 10.5) == std::nullopt);
  CHECK(speech.Shown("loss = 0.53, step = 4100 (0.5 sec)", 11) ==
        "step 4,100  loss 0.530  4.10 k steps/s");
  CHECK(speech.Shown("loss = nan, step = 4200 (0.5 sec)", 12) ==
        "step 4,200  loss nan  100 steps/s");
  CHECK(speech.Shown("loss = 0.5, accuracy = 0.9 (0.5 sec)", 12) ==
        "loss = 0.5, accuracy = 0.9 (0.5 sec)");
  CHECK(speech.Shown("Graph was finalized.", 12) == std::nullopt);
  CHECK(speech.Shown("Saving checkpoints for 4200 into runs/a/model.ckpt.", 12) ==
        "saved runs/a/model.ckpt-4200");
  CHECK(speech.Shown("Saving dict for global step 4200: accuracy = 0.9, global_step = 4200, loss = "
                     "12345.6",
                     12) == "evaluated at step 4,200  accuracy 0.900  loss 1.23e+04");
  CHECK(speech.Shown("Loss for final step: 0.25.", 12) == std::nullopt);
  CHECK(speech.Shown("stopped at step 4200: max_steps", 12) ==
        "stopped at step 4200: max_steps, loss 0.250");
}

TEST_CASE("an internal error exits with code 1 and asks for a report") {
  int exit_code = 0;
  const std::string text = StderrOf([&] {
    exit_code = Guarded({}, [](config::Sources& /*sources*/) -> int {
      throw std::logic_error("the impossible happened");
    });
  });
  CHECK(exit_code == static_cast<int>(Code::kInternal));
  CHECK(text.starts_with("error: the impossible happened"));
  CHECK(Count(text, "this is a bug in tpuest; please report it with the job") == 1);
}

}  // namespace
}  // namespace tpuest::cli
