#include "cli/many/sweep/folder.h"

#include <charconv>
#include <utility>

#include "cli/run/record/json.h"
#include "cli/shell/json.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/crc32c.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kSchema = "tpuest.sweep.json/1";

Json JsonOfTrial(const Trial& trial) {
  Json values = Json::object();
  for (const auto& [key, value] : trial.values) values[key] = value;
  return {{"index", trial.index}, {"trial", trial.name}, {"overrides", values}};
}

Json JsonOfRecord(const SweepRecord& record) {
  Json trials = Json::array();
  for (const Trial& trial : record.trials) trials.push_back(JsonOfTrial(trial));
  return {{"schema", kSchema},
          {"job", record.job},
          {"set_files", record.set_files},
          {"job_crc32c", fmt::format("{:08x}", Crc32c(record.job_text))},
          {"command", record.command},
          {"overrides", record.overrides},
          {"grid", record.space.grid},
          {"random", record.space.random},
          {"draws", OrNull(record.space.draws)},
          {"seed", record.space.seed},
          {"metric", record.order.metric},
          {"mode", record.order.mode},
          {"trials", trials}};
}

SweepRecord RecordOf(const Json& json) {
  SweepRecord record;
  record.job = json.at("job").get<std::string>();
  record.command = json.at("command").get<std::string>();
  json.at("set_files").get_to(record.set_files);
  json.at("overrides").get_to(record.overrides);
  json.at("grid").get_to(record.space.grid);
  json.at("random").get_to(record.space.random);
  if (!json.at("draws").is_null()) record.space.draws = json.at("draws").get<int64_t>();
  record.space.seed = json.at("seed").get<uint64_t>();
  record.order = {json.at("metric").get<std::string>(), json.at("mode").get<std::string>()};
  for (const Json& each : json.at("trials")) {
    Trial trial{each.at("index").get<int64_t>(), each.at("trial").get<std::string>(), {}};
    for (const auto& [key, value] : each.at("overrides").items()) {
      trial.values.emplace_back(key, value.get<std::string>());
    }
    record.trials.push_back(std::move(trial));
  }
  return record;
}

Json ReadJson(const std::string& path) {
  Json json = Json::parse(ReadFile(path), nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.value("schema", "") == kSchema) return json;
  throw Error(Code::kData, fmt::format("{}: is not a sweep of this version", path),
              "name another folder: --out DIR");
}

// A text a difference: "grid: learning_rate=0.1 there, learning_rate=0.2 here".
std::vector<std::string> Differences(const Json& there, const Json& here) {
  std::vector<std::string> differences;
  for (const char* const key :
       {"job", "set_files", "job_crc32c", "command", "overrides", "grid", "random", "seed"}) {
    if (there.at(key) == here.at(key)) continue;
    differences.push_back(
        key == std::string_view("job_crc32c")
            ? "the job file or a set file has changed"
            : fmt::format("{}: {} there, {} here", key, there.at(key).dump(), here.at(key).dump()));
  }
  const Json& old_trials = there.at("trials");
  const Json& new_trials = here.at("trials");
  if (!differences.empty()) return differences;
  if (new_trials.size() < old_trials.size()) {
    differences.push_back(
        fmt::format("trials: {} there, {} here", old_trials.size(), new_trials.size()));
  } else if (!std::equal(old_trials.begin(), old_trials.end(), new_trials.begin())) {
    differences.emplace_back("trials: their names or values");
  }
  return differences;
}

std::optional<int> ReadExit(const std::string& path) {
  if (!FileExists(path)) return std::nullopt;
  const std::string text = ReadFile(path);
  int code = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  return error == std::errc() ? std::optional(code) : std::nullopt;
}

}  // namespace

void SweepFolder::Claim(const SweepRecord& record) const {
  MakeDirectories(JoinPath(path_, "logs"));
  const Json here = JsonOfRecord(record);
  if (FileExists(RecordPath())) {
    const Json there = ReadJson(RecordPath());
    const std::vector<std::string> differences = Differences(there, here);
    if (!differences.empty()) {
      throw Error(Code::kUsage,
                  fmt::format("{}: holds another sweep ({})", path_, Join(differences, "; ")),
                  "name another folder: --out DIR");
    }
    if (there == here) return;
  }
  WriteFileAtomically(RecordPath(),
                      here.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

SweepRecord SweepFolder::Read() const {
  if (!FileExists(RecordPath())) {
    throw Error(Code::kUsage,
                fmt::format("{}: is not a sweep ({} is missing)", path_, RecordPath()),
                "tpuest sweep job.yaml --grid KEY=V1,V2 --out " + path_);
  }
  const Json json = ReadJson(RecordPath());
  try {
    return RecordOf(json);
  } catch (const Json::exception& error) {
    throw Error(Code::kData, fmt::format("{}: is damaged ({})", RecordPath(), error.what()));
  }
}

std::unique_ptr<FileLock> SweepFolder::Lock() const {
  std::unique_ptr<FileLock> lock = FileLock::TryAcquire(JoinPath(path_, "sweep.lock"));
  if (lock != nullptr) return lock;
  throw Error(Code::kUsage, fmt::format("{}: another process runs this sweep", path_),
              "'tpuest sweep status " + path_ + "' shows its progress");
}

std::string SweepFolder::RunOf(const Trial& trial) const { return JoinPath(path_, trial.name); }

std::string SweepFolder::LogOf(const Trial& trial) const {
  return JoinPath(path_, "logs/" + trial.name + ".txt");
}

std::string SweepFolder::ExitPath(const Trial& trial) const {
  return JoinPath(path_, "logs/" + trial.name + ".exit");
}

void SweepFolder::NoteExit(const Trial& trial, std::optional<int> exit_code) const {
  if (!exit_code || *exit_code == 0) {
    RemoveFile(ExitPath(trial));
    return;
  }
  WriteFileAtomically(ExitPath(trial), fmt::format("{}\n", *exit_code), /*fsync=*/false);
}

TrialStatus SweepFolder::StatusOf(const Trial& trial,
                                  const std::vector<std::string>& overrides) const {
  if (FileLock::IsHeld(LockPath(RunOf(trial)))) return {"running", std::nullopt};
  const std::optional<int> noted = ReadExit(ExitPath(trial));
  const Json run = ReadRunJson(RunOf(trial)).value_or(Json::object());
  std::vector<std::string> expected = overrides;
  for (const std::string& own : trial.Overrides()) expected.push_back(own);
  if (run.value("overrides", Json()) != Json(expected)) {
    return noted ? TrialStatus{"failed", noted} : TrialStatus{};
  }
  const Json code = run.value("exit_code", Json());
  if (!code.is_number_integer()) return {"killed", noted};
  const auto exit_code = code.get<int>();
  const std::string status = run.value("status", "");
  return {status == "done" || status == "failed" ? status : "stopped", exit_code};
}

}  // namespace tpuest::cli
