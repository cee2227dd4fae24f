// Runs the whole-program tests, that is, every *.yaml in this folder, with the built tpuest.
//
//   run_jobs PROGRAM SOURCE_ROOT [quick|all|plugins|bench] [PATTERN...] [--keep]
//
// Runs the cases of one suite, or of the first three: `plugins` has the cases that need a plugin
// (x-needs), `all` and `bench` those whose `x-suite` says so, `quick` the rest. A PATTERN matches a
// part of the file's name or of the claim; --keep keeps the folders of failed cases.
//
// A case is a job file with a block for its test. tpuest ignores x-* keys, so the file is the job
// unchanged. A file may have several cases as YAML documents between lines of "---". Each document
// is written to its own file, so lines that tpuest reports count from the document's first line. A
// document with only x-* keys has the job of the previous case.
//
//   version: 1
//   train_batch_size: 32
//   ...
//   x-case: training stops at max_steps and says so      # the claim; for several cases in a file
//   x-rule: "exit code 0: done"                          # the rule that it shows (count_rules)
//   x-suite: all                                         # only in `./dev test --all`; bench: in
//                                                        # `./dev bench recipes`, for minutes
//   x-needs: cpu/xla_cpu_pjrt.so                         # a file in $TPUEST_PLUGINS, or in
//                                                        # the folder of ./dev plugins; without
//                                                        # a slash: a program of the PATH, or
//                                                        # bfloat16: a processor with AVX-512.
//                                                        # If it is missing, the case is skipped
//   x-expect:
//     - command: train JOB --model-dir run --json        # tpuest's arguments, read by bash
//       json: {global_step: 20, loss: {min: 0, max: 2.4}}
//       files: ["run/model.ckpt-20.*", run/checkpoint]
//     - command: train JOB train_batch_size=0
//       code: 2
//       stderr: ["digits.yaml:2:", /error: .*batch size/]
//       not_stderr: Traceback
//
// Each case runs in a fresh folder, which contains the job under its file's name; JOB stands for
// that name. The steps run in order in that folder until one fails. A step has one of
//   command: ARGS            tpuest ARGS; bash runs it if it has more than words and quotes:
//                            pipes, redirections, variables
//   shell: SCRIPT            bash, with tpuest on the PATH and no `set -e`
//   write: PATH, text: TEXT  a file, such as a job that is not YAML
//   flip: PATH, at: BYTE     inverts the bits of one byte; from the end if BYTE is negative
// and, with a command or a shell,
//   stdin: TEXT              default: empty
//   env: {NAME: value}       besides HOME, PATH, TMPDIR, LC_ALL, TERM=dumb,
//                            TPUEST_LOG_LEVEL=debug (all that log.txt has), SOURCE_ROOT (the root
//                            of the tree), TESTDATA (tests/testdata) and, in a case that needs a
//                            plugin, TPUEST_PLUGINS; ${...} in a job sees them
//   limit_s: 1200            seconds after which the step's process group is killed and the case
//                            fails: for hangs only, since a loaded machine is slow
//   signal: {send: TERM|INT|KILL|USR1|HUP, after: TEXT of stderr}, or {..., after_file: GLOB}
//                            sent once to the process group; the step fails if it is never due
//   code: 0                  the exit code; 128 + n for signal n
//   stdout, not_stdout, stderr, not_stderr
//                            a text or a list of texts to find, or not to find; between slashes it
//                            is an extended regular expression; ^ and $ match at lines
//   json: {PATH: EXPECTED}   of stdout as a JSON document, or as an array of its lines' documents
//   json_files: {GLOB: {PATH: EXPECTED}}
//                            as above, for a file (run/.tpuest/metrics.jsonl)
//   files, no_files          globs that some file, or none, must match
//   same_bytes, different_bytes
//                            lists of pairs of globs; each matches one file
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
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "tests/jobs/job_case.h"
#include "tests/jobs/run_case.h"

namespace {

using tpuest::JobCase;

// Meson's code for a skipped test.
constexpr int kSkipped = 77;

enum class Suite { kQuick, kAll, kPlugins, kBench };

const std::map<std::string, Suite> kSuites = {{"quick", Suite::kQuick},
                                              {"all", Suite::kAll},
                                              {"plugins", Suite::kPlugins},
                                              {"bench", Suite::kBench}};

struct Arguments {
  tpuest::CaseOptions options;
  std::optional<Suite> suite;         // none: all except kBench
  std::vector<std::string> patterns;  // none: all
};

// Found as the program finds it (FindPjrtPlugin).
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
    throw tpuest::Error(
        tpuest::Code::kUsage,
        "run_jobs PROGRAM SOURCE_ROOT [quick|all|plugins|bench] [PATTERN...] [--keep]");
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

// Counts the cases and prints each one's result.
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
  void Skip(const std::string& why) { ++skipped_[why]; }
  // Repeats the failures, because only the end of a long log is read. Returns the exit code.
  [[nodiscard]] int Close() const {
    int skipped = 0;
    for (const auto& [why, count] : skipped_) {
      fmt::print("skipped: {} case{}: {}\n", count, count == 1 ? "" : "s", why);
      skipped += count;
    }
    fmt::print("{}jobs: {} passed, {} failed, {} skipped\n", fmt::join(failed_, ""), passed_,
               failed_.size(), skipped);
    if (!failed_.empty()) return 1;
    return passed_ > 0 ? 0 : kSkipped;
  }

 private:
  std::mutex mutex_;
  int passed_ = 0;
  std::vector<std::string> failed_;
  std::map<std::string, int> skipped_;  // cases by what is missing
};

bool MatchesAny(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return name.find(pattern) != std::string::npos;
         });
}

// A path names a plugin; a name names a program, with one exception.
bool NeedsPlugin(const JobCase& job_case) { return job_case.needs.find('/') != std::string::npos; }

// What a case needs and lacks on this machine, and how to get it.
std::string Lack(const std::string& needs) {
  if (needs == "bfloat16") return "needs a processor with AVX-512";
  if (needs.find('/') != std::string::npos) {
    return fmt::format("needs the plugin {}: ./dev plugins {}", needs,
                       needs.substr(0, needs.find('/')));
  }
  static const std::map<std::string, std::string> kPackages = {{"cc", "gcc"},
                                                               {"mpiexec.hydra", "mpich"},
                                                               {"mpirun.openmpi", "openmpi-bin"},
                                                               {"qemu-x86_64", "qemu-user"}};
  const auto package = kPackages.find(needs);
  return fmt::format("needs {}: Debian's package {}", needs,
                     package == kPackages.end() ? needs : package->second);
}

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
  return kSuites.at(job_case.suite);
}

bool IsAskedFor(const JobCase& job_case, const Arguments& arguments) {
  const Suite suite = SuiteOf(job_case);
  const bool is_of_suite = arguments.suite ? suite == *arguments.suite : suite != Suite::kBench;
  return is_of_suite && MatchesAny(job_case.name, arguments.patterns);
}

// The cases that the arguments select and that can run here. A file that cannot be read counts as a
// failed case of the suite `quick`.
std::vector<JobCase> Cases(const Arguments& arguments, Report& report) {
  const std::string folder = tpuest::JoinPath(arguments.options.source_root, "tests/jobs");
  std::vector<JobCase> cases;
  for (const std::string& path : tpuest::Glob(tpuest::JoinPath(folder, "*.yaml"))) {
    const std::string file = tpuest::BaseName(path);
    try {
      for (JobCase& job_case : tpuest::ParseCases(file, tpuest::ReadFile(path))) {
        if (!IsAskedFor(job_case, arguments)) continue;
        if (HasNeeds(job_case, arguments.options.plugins)) {
          cases.push_back(std::move(job_case));
        } else {
          report.Skip(Lack(job_case.needs));
        }
      }
    } catch (const tpuest::Error& error) {
      if (MatchesAny(file, arguments.patterns) &&
          arguments.suite.value_or(Suite::kQuick) == Suite::kQuick) {
        report.Add(file, {error.message()}, {});
      }
    }
  }
  return cases;
}

// A case that needs no plugin finds none, so its output is the same on every machine.
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
  // One more thread than there are cores, because some cases wait.
  for (unsigned i = 0; i < std::thread::hardware_concurrency() + 1; ++i) {
    threads.emplace_back(work);
  }
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
