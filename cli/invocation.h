#pragma once
// The command line, parsed: `tpuest <command> [JOB.yaml] [KEY=VALUE ...] [flags]`, flags and
// arguments in any order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tpuest::cli {

enum class Toggle { kAuto, kAlways, kNever };
enum class LogFormat { kText, kTensorFlow, kJson };

struct SweepFlags {
  std::vector<std::string> grid;    // "KEY=V1,V2", in order
  std::vector<std::string> random;  // "KEY=uniform(0,1)"
  std::optional<int64_t> trials;    // draws of each point of the grid
  int64_t seed = 0;
  int jobs = 1;                    // trials at a time
  std::optional<std::string> out;  // the sweep's folder
  std::optional<std::string> index;
  std::optional<std::string> metric;
  std::optional<std::string> mode;
};

struct BenchFlags {
  std::optional<int64_t> seconds;
};

struct InspectFlags {
  std::optional<std::string> value;  // a variable
  std::optional<std::string> diff;   // another checkpoint
  bool verify = false;
  std::optional<int64_t> head;  // records
};

struct PlotFlags {
  std::vector<std::string> metrics;
  bool over_time = false;
  bool log_y = false;
};

struct AverageFlags {
  std::optional<int64_t> last;  // checkpoints of one run
};

struct Invocation {
  std::string command;
  std::string subject;                 // one of Command::subjects: "show", "models"
  std::vector<std::string> arguments;  // what is neither the job nor KEY=VALUE
  std::optional<std::string> job;      // path of the job file
  std::vector<std::string> set_files;  // over the job file, in order
  std::vector<std::string> overrides;  // KEY=VALUE, KEY+=ITEM and ~KEY, in order
  std::string command_line;            // all of it, quoted for a shell

  // Flags of every command.
  std::optional<std::string> model_dir;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  LogFormat log_format = LogFormat::kText;
  Toggle color = Toggle::kAuto;
  Toggle progress = Toggle::kAuto;
  std::optional<std::string> directory;  // -C
  std::optional<int> threads;
  std::string device = "cpu";

  // Flags of some commands.
  std::optional<std::string> checkpoint;  // evaluate, predict
  std::optional<std::string> name;        // evaluate
  bool folds = false;                     // compare
  std::optional<std::string> fold;        // train, evaluate: "1/5"
  bool follow = false;                    // evaluate
  std::vector<std::string> fail_if;       // evaluate
  std::optional<std::string> input;       // predict
  std::optional<std::string> output;      // predict, convert
  std::optional<std::string> format;      // predict
  std::optional<int64_t> limit;           // predict
  std::optional<int64_t> api_version;     // export
  std::optional<std::string> export_dir;  // export
  std::optional<int64_t> verify;          // export
  bool full = false;                      // config show
  bool minimal = false;                   // config show
  bool explain = false;                   // config show
  std::optional<std::string> compile;     // plan: a topology
  std::optional<std::string> dump_hlo;    // plan: a file
  // convert
  std::optional<std::string> images;
  std::optional<std::string> labels;
  std::optional<int64_t> digits;
  uint64_t seed = 0;
  int64_t skip = 0;
  std::optional<int64_t> take;
  std::optional<std::string> compression;
  std::optional<std::string> csv;
  std::optional<std::string> column_names;  // "a,b,c"
  std::string field_delim = ",";
  std::string na_value;
  bool no_header = false;
  InspectFlags inspect;
  BenchFlags bench;
  // init; --output, --column-names and --no-header are its, too
  std::optional<std::string> from;
  std::optional<std::string> label;
  std::optional<std::string> eval;
  std::string model = "linear";
  bool force = false;
  SweepFlags sweep;
  AverageFlags average;  // --output is its, too
  PlotFlags plot;        // --output is its, too
};

// What stands beside a command's flags; kJob: JOB.yaml and KEY=VALUE.
enum class Takes { kJob, kPath, kPaths, kNothing };

// Reads a command's own flags into the invocation, which outlives the app (cli/flags.h).
using AddFlags = void (*)(CLI::App& app, Invocation& to);

// A word that may follow a command: `config show`.
struct Subject {
  Subject(const char* word) : name(word) {}  // NOLINT(google-explicit-constructor): a list of words
  Subject(const char* word, Takes what) : name(word), takes(what) {}
  std::string_view name;
  std::optional<Takes> takes = std::nullopt;  // nullopt: as its command
};

// One of the program's commands.
struct Command {
  std::string_view name;
  std::string_view summary;                  // one line of the list in --help
  std::string_view example;                  // shown first in the command's own help
  int (*run)(const Invocation& invocation);  // returns the exit code
  Takes takes = Takes::kJob;
  AddFlags flags = nullptr;
  std::vector<Subject> subjects;  // the first word beside the flags may be one
  bool needs_subject = false;
};
[[nodiscard]] const std::vector<Command>& Commands();
// By name; nullptr: there is none.
[[nodiscard]] const Command* FindCommand(std::string_view name);

// Whether a word of the command line is a job file, by its ending.
[[nodiscard]] bool IsJobFile(const std::string& argument);

// The invocation, or the exit code where --help, --version or a usage error was all there was to
// say (and has been said).
struct Parsed {
  Invocation invocation;
  const Command* command = nullptr;
  std::optional<int> exit_code;
};
[[nodiscard]] Parsed ParseCommandLine(int argc, const char* const* argv);

}  // namespace tpuest::cli
