#include "cli/host/plugin_probe.h"

#include <csignal>
#include <cstdlib>
#include <optional>

#include "core/backend/pjrt/client.h"
#include "core/base/error.h"
#include "core/base/process/child_process.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// Runs in the child. Its answer is lines: "ok", the number of devices, the version; or "no" and the
// reason.
std::string TryPlugin(const std::string& path) {
  try {
    const auto client = LoadPjrtPlugin(path, IsPluginOf("cpu", path) ? 1 : 0);
    return fmt::format("ok\n{}\n{}", client->devices(), client->version());
  } catch (const Error& error) {
    return "no\n" + error.message();
  } catch (const std::exception& error) {
    return fmt::format("no\n{}", error.what());
  }
}

void Understand(const std::string& text, const ProcessEnd& end, PluginProbe& probe) {
  const std::vector<std::string> lines = Split(text, '\n');
  if (lines.size() >= 3 && lines[0] == "ok") {
    probe.starts = true;
    probe.devices = std::atoi(lines[1].c_str());
    probe.version = lines[2];
  } else if (lines.size() >= 2 && lines[0] == "no") {
    probe.message = text.substr(3);
  } else {
    probe.message = end.signal != 0 ? fmt::format("the probe was killed by signal {}", end.signal)
                                    : "the plugin ends the process";
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
  ChildProcess child([&] { return TryPlugin(probe.path); });
  const std::optional<std::string> answer = child.Answer(deadline_secs);
  child.Signal(SIGKILL);
  const ProcessEnd end = child.Wait();
  if (answer) {
    Understand(*answer, end, probe);
  } else {
    probe.message = fmt::format("it did not start within {} s", NumberText(deadline_secs));
  }
  return probe;
}

}  // namespace tpuest::cli
