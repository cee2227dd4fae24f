// Runs the whole-program tests: every *.yaml beside this file, against the built tpuest.
//
//   run_jobs PROGRAM SOURCE_ROOT [fast|slow|plugins] [PATTERN...] [--keep]
//
// plugins stands for the cases that need one (x-needs), fast and slow for the others. A PATTERN is
// a part of the file's name or of the claim; --keep leaves the folders of failed cases.
//
// A case is a job file with a block for its test. tpuest passes over x-* keys, so the file is the
// job as it stands. A file may hold several cases as YAML documents between lines of "---"; each is
// cut out and written alone, so lines that tpuest reports count from its document's first. A
// document of x-* keys alone has the job of the case before it.
//
//   version: 1
//   train_batch_size: 32
//   ...
//   x-case: training stops at max_steps and says so      # the claim; for several cases in a file
//   x-rule: "exit code 0: done"                          # the rule that it shows (count_rules)
//   x-suite: slow                                        # fast unless said; slow: more than 5 s
//   x-needs: cpu/xla_cpu_pjrt.so                         # of the suite plugins instead; left out
//                                                        # where $TPUEST_PLUGINS, or the folder
//                                                        # that ./dev plugins fills, lacks it;
//                                                        # without a slash: a program of the PATH,
//                                                        # or bfloat16: a processor with AVX-512
//   x-expect:
//     - command: train JOB --model-dir run --json        # tpuest's arguments, read by bash
//       json: {global_step: 20, loss: {min: 0, max: 2.4}}
//       files: ["run/model.ckpt-20.*", run/checkpoint]
//     - command: train JOB train_batch_size=0
//       code: 2
//       stderr: ["digits.yaml:2:", /error: .*batch size/]
//       not_stderr: Traceback
//
// Each case runs in a fresh folder, where the job lies under its own file's name; JOB stands for
// that name. The steps run in order in that folder until one does not do as expected. A step has
// one of
//   command: ARGS            tpuest ARGS; pipes and redirections work
//   shell: SCRIPT            bash, with tpuest on the PATH and no `set -e`
//   write: PATH, text: TEXT  a file, such as a job that is no YAML
//   flip: PATH, at: BYTE     inverts the bits of one byte; from the end if BYTE is negative
// and, with a command or a shell,
//   stdin: TEXT              otherwise it is empty
//   env: {NAME: value}       besides HOME, PATH, TMPDIR, LC_ALL, TERM=dumb,
//                            TPUEST_LOG_LEVEL=debug (all that log.txt has), SOURCE_ROOT (the root
//                            of the tree), TESTDATA (tests/testdata) and, in a case that needs a
//                            plugin, TPUEST_PLUGINS; ${...} in a job sees them
//   limit_s: 60              then the step's whole process group is killed, and the case fails
//   signal: {send: TERM|INT|KILL|USR1|HUP, after: TEXT of stderr}, or {..., after_file: GLOB}
//                            sent once to the process group; it must become due
//   code: 0                  the exit code; 128 + n for signal n
//   stdout, not_stdout, stderr, not_stderr
//                            a text or a list of texts to find, or not to find; between slashes it
//                            is an extended regular expression, ^ and $ being a line's
//   json: {PATH: EXPECTED}   of stdout as a JSON document, or as an array of its lines' documents
//   json_files: {GLOB: {PATH: EXPECTED}}
//                            the same of a file (run/.tpuest/metrics.jsonl)
//   files, no_files          globs that some file, or none, must match
//   same_bytes, different_bytes
//                            lists of pairs of globs, each of one file
//
// PATH is keys and indices between dots ("metrics.accuracy", "0.loss"; "-1.step" counts from the
// end), or between slashes if it begins with one. EXPECTED is a value, a list, or conditions that
// must all hold: {min: 0, max: 1}, {near: 2.3, tol: 1e-5}, {length: 3}, {contains: x} (part of a
// text, element, key), {exists: false}.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "tests/jobs/job_case.h"
#include "tests/jobs/run_case.h"

namespace {

using tpuest::JobCase;

constexpr int kAtOnce = 2;
// What Meson takes for a test that was skipped.
constexpr int kSkipped = 77;

enum class Suite { kFast, kSlow, kPlugins };

const std::map<std::string, Suite> kSuites = {
    {"fast", Suite::kFast}, {"slow", Suite::kSlow}, {"plugins", Suite::kPlugins}};

struct Arguments {
  tpuest::CaseOptions options;
  std::optional<Suite> suite;         // none: all
  std::vector<std::string> patterns;  // none: all
};

// As the program looks for it (FindPjrtPlugin).
std::string PluginFolder() {
  const auto value = [](const char* name) -> std::string {
    const char* const text = std::getenv(name);
    return text == nullptr ? "" : text;
  };
  if (std::string own = value("TPUEST_PLUGINS"); !own.empty()) return own;
  std::string cache = value("XDG_CACHE_HOME");
  if (cache.empty()) cache = tpuest::JoinPath(value("HOME"), ".cache");
  return tpuest::JoinPath(cache, "tpuest/plugins");
}

Arguments Parse(int argc, char** argv) {
  if (argc < 3) {
    throw tpuest::Error(tpuest::Code::kUsage,
                        "run_jobs PROGRAM SOURCE_ROOT [fast|slow|plugins] [PATTERN...] [--keep]");
  }
  Arguments arguments{
      {.program = argv[1], .source_root = argv[2], .plugins = PluginFolder()}, std::nullopt, {}};
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--keep") {
      arguments.options.keep_folder = true;
    } else if (const auto suite = kSuites.find(argument); suite != kSuites.end()) {
      arguments.suite = suite->second;
    } else {
      arguments.patterns.push_back(argument);
    }
  }
  return arguments;
}

// Counts the cases and prints how each went, a case at a time.
class Report {
 public:
  using Milliseconds = std::chrono::milliseconds;

  void Add(const std::string& name, const std::vector<std::string>& faults, Milliseconds took) {
    const std::lock_guard lock(mutex_);
    if (faults.empty()) {
      ++passed_;
      fmt::print("passed {} ({} ms)\n", name, took.count());
    } else {
      const std::string text = fmt::format("FAILED {}\n{}\n", name, fmt::join(faults, "\n"));
      fmt::print("{}", text);
      failed_.push_back(text);
    }
    std::fflush(stdout);
  }
  // Says again what failed, where a long log's end is all that is read. Returns the exit code.
  [[nodiscard]] int Close() const {
    fmt::print("{}jobs: {} passed, {} failed\n", fmt::join(failed_, ""), passed_, failed_.size());
    if (!failed_.empty()) return 1;
    return passed_ > 0 ? 0 : kSkipped;
  }

 private:
  std::mutex mutex_;
  int passed_ = 0;
  std::vector<std::string> failed_;
};

bool MatchesAny(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return name.find(pattern) != std::string::npos;
         });
}

// A path is of plugins; a name is a program, but for one.
bool NeedsPlugin(const JobCase& job_case) { return job_case.needs.find('/') != std::string::npos; }

bool HasNeeds(const JobCase& job_case, const std::string& plugins) {
  if (job_case.needs.empty()) return true;
  if (job_case.needs == "bfloat16") return __builtin_cpu_supports("avx512bw");
  if (NeedsPlugin(job_case)) {
    return tpuest::FileExists(tpuest::JoinPath(plugins, job_case.needs));
  }
  return std::ranges::any_of(tpuest::Split(tpuest::kCasePath, ':'), [&](const std::string& folder) {
    return tpuest::FileExists(tpuest::JoinPath(folder, job_case.needs));
  });
}

Suite SuiteOf(const JobCase& job_case) {
  if (NeedsPlugin(job_case)) return Suite::kPlugins;
  return job_case.is_slow ? Suite::kSlow : Suite::kFast;
}

bool IsAskedFor(const JobCase& job_case, const Arguments& arguments) {
  const Suite suite = SuiteOf(job_case);
  return HasNeeds(job_case, arguments.options.plugins) &&
         arguments.suite.value_or(suite) == suite && MatchesAny(job_case.name, arguments.patterns);
}

// The cases that the arguments ask for. A file that cannot be read is a case that failed, in the
// fast suite.
std::vector<JobCase> Cases(const Arguments& arguments, Report& report) {
  const std::string folder = tpuest::JoinPath(arguments.options.source_root, "tests/jobs");
  std::vector<JobCase> cases;
  for (const std::string& path : tpuest::Glob(tpuest::JoinPath(folder, "*.yaml"))) {
    const std::string file = tpuest::BaseName(path);
    try {
      std::vector<JobCase> found = tpuest::ParseCases(file, tpuest::ReadFile(path));
      std::ranges::copy_if(found, std::back_inserter(cases), [&](const JobCase& job_case) {
        return IsAskedFor(job_case, arguments);
      });
    } catch (const tpuest::Error& error) {
      if (MatchesAny(file, arguments.patterns) &&
          arguments.suite.value_or(Suite::kFast) == Suite::kFast) {
        report.Add(file, {error.message()}, {});
      }
    }
  }
  return cases;
}

// A case that needs no plugin sees none: what it shows is the same on every machine.
std::vector<std::string> Run(const JobCase& job_case, tpuest::CaseOptions options) {
  if (job_case.needs.empty()) options.plugins.clear();
  return tpuest::RunCase(job_case, options);
}

void RunAll(const std::vector<JobCase>& cases, const tpuest::CaseOptions& options, Report& report) {
  using Clock = std::chrono::steady_clock;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < cases.size(); i = next++) {
      const Clock::time_point begin = Clock::now();
      std::vector<std::string> faults;
      try {
        faults = Run(cases[i], options);
      } catch (const std::exception& error) {
        faults = {error.what()};
      }
      report.Add(cases[i].name, faults,
                 std::chrono::duration_cast<Report::Milliseconds>(Clock::now() - begin));
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kAtOnce; ++i) threads.emplace_back(work);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = Parse(argc, argv);
    Report report;
    RunAll(Cases(arguments, report), arguments.options, report);
    return report.Close();
  } catch (const tpuest::Error& error) {
    fmt::print(stderr, "{}\n", error.message());
    return static_cast<int>(error.code());
  }
}
