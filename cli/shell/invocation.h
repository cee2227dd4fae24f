#pragma once
// A parsed command line: `tpuest <command> [JOB.yaml] [KEY=VALUE ...] [flags]`, flags and arguments
// in any order.

#include <optional>
#include <string>
#include <vector>

namespace tpuest::cli {

enum class Toggle { kAuto, kAlways, kNever };
enum class LogFormat { kText, kTensorFlow, kJson };

// A flag that sets a key of the job: --export-dir sets export.export_dir_base.
struct KeyFlag {
  std::string flag;
  std::string key;
  std::string value;
};

// The flags and arguments that every command has; a command with flags of its own makes a struct on
// top of it (see command.h).
struct Invocation {
  std::string command;
  std::string subject;                 // one of Command::subjects: "show", "models"
  std::vector<std::string> arguments;  // words that are neither the job nor KEY=VALUE
  std::optional<std::string> job;      // path of the job file
  std::vector<std::string> set_files;  // files laid over the job file, in order
  std::vector<std::string> overrides;  // KEY=VALUE, KEY+=ITEM and ~KEY, in order
  std::string command_line;            // the whole line, quoted for a shell

  // Flags of every command.
  std::optional<std::string> model_dir;
  bool dry_run = false;  // check everything, write nothing
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  LogFormat log_format = LogFormat::kText;
  bool timestamps = false;
  Toggle color = Toggle::kAuto;
  Toggle progress = Toggle::kAuto;
  std::optional<std::string> directory;  // -C
  std::optional<int> threads;
  std::optional<std::string> device;  // null: as tpuest.device of the job says
  bool no_commands = false;           // refuse a job that runs foreign code
  bool by_itself = false;             // run without the other processes of a launcher

  // Flags of commands that run a job.
  std::optional<std::string> checkpoint;
  bool allow_older = false;         // use the previous checkpoint if the newest is damaged
  bool untrained = false;           // use initial values without a checkpoint
  std::optional<std::string> fold;  // "1/5"
  std::vector<KeyFlag> key_flags;   // over `overrides`
};

// The names that --device and tpuest.device accept.
inline constexpr std::string_view kDeviceNames = "cpu, cpu-xla, cuda, tpu or pjrt:PATH";
[[nodiscard]] bool IsDeviceName(std::string_view name);

// Tells whether a word of the command line is a job file, by its ending.
[[nodiscard]] bool IsJobFile(const std::string& argument);

}  // namespace tpuest::cli
