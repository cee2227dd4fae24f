#include "core/estimator/hooks/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace tpuest {
namespace {

using TraceJson = nlohmann::ordered_json;

double Micros(double seconds) {
  constexpr double kNanos = 1e9;
  constexpr double kNanosOfMicro = 1e3;
  return std::round(seconds * kNanos) / kNanosOfMicro;
}

TraceJson LaneJson(int thread) {
  return {{"ph", "M"},
          {"name", "thread_name"},
          {"pid", 0},
          {"tid", thread},
          {"args", {{"name", fmt::format("step thread {}", thread)}}}};
}

TraceJson EventJson(const StepTrace::Event& event, double start) {
  return {{"ph", "X"},
          {"cat", "Op"},
          {"name", event.op},
          {"pid", 0},
          {"tid", event.thread},
          {"ts", Micros(event.begin - start)},
          {"dur", Micros(event.end - event.begin)},
          {"args", {{"name", event.name}, {"op", event.op}}}};
}

}  // namespace

std::string ChromeTrace(const StepTrace& trace) {
  double start = 0;
  std::set<int> threads;
  for (const StepTrace::Event& event : trace.events()) {
    start = threads.empty() ? event.begin : std::min(start, event.begin);
    threads.insert(event.thread);
  }
  TraceJson events = TraceJson::array();
  for (const int thread : threads) events.push_back(LaneJson(thread));
  for (const StepTrace::Event& event : trace.events()) events.push_back(EventJson(event, start));
  const TraceJson document = {{"traceEvents", std::move(events)}};
  return document.dump(-1, ' ', false, TraceJson::error_handler_t::replace) + "\n";
}

}  // namespace tpuest
