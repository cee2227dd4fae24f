#include "core/estimator/model_dir/heartbeat.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kBeatEvery{20};
constexpr std::chrono::seconds kLookEvery{1};

struct Beaten {
  std::string host;
  int64_t pid = 0;
  std::string run;
  double time = 0;
  bool operator==(const Beaten&) const = default;
};

std::string ThisHost() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

// The current heartbeat; nullopt if there is none, or if it cannot be read.
std::optional<Beaten> BeatIn(const std::string& model_dir) {
  const std::string path = HeartbeatPath(model_dir);
  try {
    if (!FileExists(path)) return std::nullopt;
    const Json json = Json::parse(ReadFile(path));
    return Beaten{.host = json.at("host").get<std::string>(),
                  .pid = json.at("pid").get<int64_t>(),
                  .run = json.at("run").get<std::string>(),
                  .time = json.at("time").get<double>()};
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool IsFresh(const Beaten& beat, double wall_seconds) {
  const bool is_gone = beat.host == ThisHost() && beat.pid > 0 &&
                       ::kill(static_cast<pid_t>(beat.pid), 0) != 0 && errno == ESRCH;
  return !is_gone && wall_seconds - beat.time < kBeatFreshSecs;
}

std::string DrawnName() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace

bool HasFreshBeat(const std::string& model_dir, double wall_seconds) {
  const std::optional<Beaten> beat = BeatIn(model_dir);
  return beat && IsFresh(*beat, wall_seconds);
}

std::unique_ptr<Heartbeat> Heartbeat::TryBegin(const Args& args, std::string& other) {
  const auto tell = [&other](const std::optional<Beaten>& beat) {
    other = beat ? fmt::format("process {} of {}", beat->pid, beat->host)
                 : "a process whose heartbeat cannot be read";
    return nullptr;
  };
  // Measures by this process's own clock, because the other's may be wrong. A bucket that does not
  // rename may show a partial heartbeat, so an unreadable one does not allow a start.
  const double begin = args.clock.Seconds();
  std::optional<Beaten> found;
  while (args.clock.Seconds() - begin < kBeatFreshSecs &&
         FileExists(HeartbeatPath(args.model_dir))) {
    if (const std::optional<Beaten> now = BeatIn(args.model_dir)) {
      if (found && now != found) return tell(now);
      if (!IsFresh(*now, args.clock.WallSeconds())) break;
      found = now;
    }
    if (args.gives_up()) return tell(found);
    std::this_thread::sleep_for(kLookEvery);
  }
  std::unique_ptr<Heartbeat> beats(new Heartbeat(args, DrawnName()));
  beats->Beat();
  // If two processes start at once, the one whose heartbeat is in the file wins.
  if (const std::optional<Beaten> now = BeatIn(args.model_dir); now && now->run != beats->run_) {
    return tell(now);
  }
  beats->thread_ = std::thread([&heart = *beats] { heart.Work(); });
  return beats;
}

Heartbeat::Heartbeat(const Args& args, std::string run) : args_(args), run_(std::move(run)) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::optional<Beaten> there = BeatIn(args_.model_dir);
  if (there && there->run == run_) RemoveFile(HeartbeatPath(args_.model_dir));
}

void Heartbeat::Beat() const {
  const Json json = {{"host", ThisHost()},
                     {"pid", ::getpid()},
                     {"run", run_},
                     {"time", args_.clock.WallSeconds()}};
  WriteFileAtomically(HeartbeatPath(args_.model_dir), json.dump() + "\n", /*fsync=*/false);
}

void Heartbeat::Work() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBeatEvery, [this] { return ends_; })) {
    try {
      Beat();
    } catch (const Error&) {
      // The run's own files report a bucket that refuses writes; the next heartbeat may succeed.
    }
  }
}

}  // namespace tpuest
