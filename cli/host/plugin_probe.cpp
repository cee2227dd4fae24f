#include "cli/host/plugin_probe.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "core/backend/pjrt/client.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// What the child finds, in lines: "ok" and two more, or "no" and why.
std::string TryPlugin(const std::string& path) {
  try {
    const auto client = LoadPjrtPlugin(path, path.find("cpu") == std::string::npos ? 0 : 1);
    return fmt::format("ok\n{}\n{}", client->devices(), client->version());
  } catch (const Error& error) {
    return "no\n" + error.message();
  } catch (const std::exception& error) {
    return fmt::format("no\n{}", error.what());
  }
}

[[noreturn]] void RunChild(const std::string& path, int to) {
  const std::string text = TryPlugin(path);
  const bool is_written = write(to, text.data(), text.size()) >= 0;
  _exit(is_written ? 0 : 1);  // without the plugin's destructors
}

// What the child writes until it closes its end, or until the deadline.
std::string ReadUntil(int from, double deadline_secs) {
  const SystemClock clock;
  const double end = clock.Seconds() + deadline_secs;
  std::string text;
  char buffer[4096];
  while (true) {
    const double left = end - clock.Seconds();
    if (left <= 0) return "no\nit has not started within " + NumberText(deadline_secs) + " s";
    pollfd waited{.fd = from, .events = POLLIN, .revents = 0};
    if (poll(&waited, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

void Understand(const std::string& text, int status, PluginProbe& probe) {
  const std::vector<std::string> lines = Split(text, '\n');
  if (lines.size() >= 3 && lines[0] == "ok") {
    probe.starts = true;
    probe.devices = std::atoi(lines[1].c_str());
    probe.version = lines[2];
  } else if (lines.size() >= 2 && lines[0] == "no") {
    probe.message = text.substr(3);
  } else {
    probe.message = WIFSIGNALED(status) ? fmt::format("it ends by signal {}", WTERMSIG(status))
                                        : "it ends the process";
  }
}

}  // namespace

PluginProbe ProbePlugin(const std::string& device, double deadline_secs) {
  PluginProbe probe{.device = device};
  try {
    probe.path = FindPjrtPlugin(device);
  } catch (const Error& error) {
    probe.message = error.faults().front().hint;
    return probe;
  }
  int ends[2] = {};
  const pid_t child = pipe(ends) == 0 ? fork() : -1;
  if (child < 0) {
    throw Error(Code::kResource, "the machine refuses a process to try a plugin in");
  }
  if (child == 0) {
    close(ends[0]);
    RunChild(probe.path, ends[1]);
  }
  close(ends[1]);
  const std::string text = ReadUntil(ends[0], deadline_secs);
  close(ends[0]);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  Understand(text, status, probe);
  return probe;
}

}  // namespace tpuest::cli
