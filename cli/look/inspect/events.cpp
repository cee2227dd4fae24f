#include "cli/look/inspect/events.h"

#include "cli/shell/json.h"
#include "core/base/text.h"
#include "core/io/events/event_reader.h"

namespace tpuest::cli {
namespace {

// The value of a scalar; null for a summary that is no single number.
Json ScalarOf(const SummaryValue& value) {
  if (const auto* const scalar = std::get_if<float>(&value.value)) return JsonNumber(*scalar);
  const auto* const tensor = std::get_if<Tensor>(&value.value);
  const bool is_number = tensor != nullptr && tensor->valid() && tensor->elements() == 1 &&
                         tensor->shape().rank() == 0 && tensor->dtype() != DType::kString;
  return is_number ? JsonOf(*tensor) : Json();
}

std::string_view TypeOf(const SummaryValue& value) {
  if (std::holds_alternative<HistogramData>(value.value)) return "histogram";
  if (std::holds_alternative<ImageData>(value.value)) return "image";
  if (std::holds_alternative<AudioData>(value.value)) return "audio";
  const bool is_scalar =
      std::holds_alternative<float>(value.value) || value.plugin_name == "scalars";
  return is_scalar ? "scalar" : "tensor";
}

struct Events {
  Json tags = Json::object();
  Json types = Json::object();
  Json damaged = Json::array();
};

Events ReadEvents(const std::vector<std::string>& files) {
  Events events;
  for (const std::string& file : files) {
    EventReader reader(file);
    EventData event;
    while (reader.Next(event)) {
      for (const SummaryValue& value : event.values) {
        events.tags[value.tag].push_back({event.step, ScalarOf(value)});
        events.types[value.tag] = TypeOf(value);
      }
    }
    if (!reader.damage().empty()) events.damaged.push_back(reader.damage());
  }
  return events;
}

}  // namespace

int ShowEvents(const Invocation& invocation, const std::vector<std::string>& files) {
  const Events events = ReadEvents(files);
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "events"},
                              {"tags", events.tags},
                              {"types", events.types},
                              {"damaged", events.damaged}});
    return 0;
  }
  for (const auto& [tag, rows] : events.tags.items()) {
    const auto type = events.types[tag].get<std::string>();
    const Json& last = rows.back();
    fmt::print("{}: {} values, last {} at step {}, first at step {}\n", tag, rows.size(),
               last[1].is_null() ? type : last[1].dump(), last[0].dump(), rows.front()[0].dump());
  }
  for (const Json& damage : events.damaged) {
    fmt::print("{}; the rest of the file was not read\n", damage.get<std::string>());
  }
  return 0;
}

}  // namespace tpuest::cli
