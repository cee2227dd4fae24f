#include "core/base/step_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tpuest {
namespace {

constexpr double kMicros = 1e6;

// The text as a JSON string; names of nodes are printable ASCII, so only two characters need an
// escape.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string StepTrace::ChromeTrace() const {
  double start = 0;
  std::set<int> threads;
  for (const Event& event : events_) {
    start = threads.empty() ? event.begin : std::min(start, event.begin);
    threads.insert(event.thread);
  }
  std::string lines;
  for (const int thread : threads) {
    lines += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"step "
        "thread {}\"}}}},\n",
        thread, thread);
  }
  for (const Event& event : events_) {
    lines += fmt::format(
        "{{\"ph\":\"X\",\"cat\":\"Op\",\"name\":{},\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:."
        "3f},"
        "\"args\":{{\"name\":{},\"op\":{}}}}},\n",
        Quoted(event.op), event.thread, (event.begin - start) * kMicros,
        (event.end - event.begin) * kMicros, Quoted(event.name), Quoted(event.op));
  }
  if (!lines.empty()) lines.resize(lines.size() - 2);
  return "{\"traceEvents\":[\n" + lines + "\n]}\n";
}

}  // namespace tpuest
