// tpuest inspect PATH: a checkpoint, its folder, a SavedModel, a TFRecord or an event file

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "cli/commands.h"
#include "cli/inspect_export.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/files.h"
#include "core/base/text.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/event_reader.h"
#include "core/io/object_graph.h"
#include "core/io/tfrecord.h"

namespace tpuest::cli {
namespace {

struct Statistics {
  double least = 0;
  double greatest = 0;
  double mean = 0;
  double sum = 0;
};

Statistics StatisticsOf(const Tensor& tensor) {
  Statistics s{INFINITY, -INFINITY, 0, 0};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.AsDouble(i);
    s.least = std::min(s.least, value);
    s.greatest = std::max(s.greatest, value);
    s.sum += value;
  }
  s.mean = tensor.elements() > 0 ? s.sum / static_cast<double>(tensor.elements()) : 0;
  return s;
}

Json ShapeJson(const Shape& shape) { return shape.dims(); }

// What the graph of objects tells about a tensor of an object-based checkpoint.
struct ObjectNote {
  std::string variable;  // its name, or that of the variable whose slot it is
  std::string slot;      // "m"
};

std::map<std::string, ObjectNote> NotesOf(const BundleReader& reader) {
  std::map<std::string, ObjectNote> notes;
  const std::optional<ObjectGraph> objects = ReadObjectGraph(reader);
  if (!objects) return notes;
  for (const ObjectGraph::Node& node : objects->nodes) {
    if (!node.key.empty()) notes[node.key].variable = node.full_name;
  }
  for (const ObjectGraph::Node& node : objects->nodes) {
    for (const ObjectGraph::Slot& slot : node.slots) {
      notes[objects->at(slot.node).key] = {objects->at(slot.variable).full_name, slot.name};
    }
  }
  return notes;
}

int ShowValue(const Invocation& invocation, const BundleReader& reader) {
  const Tensor tensor = reader.Read(*invocation.value);
  const Json values = JsonOf(tensor);
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "variable"},
                              {"name", *invocation.value},
                              {"shape", ShapeJson(tensor.shape())},
                              {"dtype", NameOf(tensor.dtype())},
                              {"value", values}});
  } else {
    fmt::print("{}\n", values.dump());
  }
  return 0;
}

int ShowCheckpoint(const Invocation& invocation, const std::string& prefix) {
  const BundleReader reader(prefix);
  if (invocation.value) return ShowValue(invocation, reader);
  Json variables = Json::object();
  const std::map<std::string, ObjectNote> notes = NotesOf(reader);
  if (!invocation.json) fmt::print("checkpoint {}\n", prefix);
  for (const std::string& name : reader.Names()) {
    const DType dtype = reader.DTypeOf(name);
    Json entry = {{"shape", ShapeJson(reader.ShapeOf(name))}, {"dtype", NameOf(dtype)}};
    std::string text;
    if (SizeOf(dtype) > 0 && dtype != DType::kBool && dtype != DType::kHalf) {
      const Statistics s = StatisticsOf(reader.Read(name));
      entry.update({{"min", s.least}, {"max", s.greatest}, {"mean", s.mean}, {"sum", s.sum}});
      text = fmt::format("min {:.5g}  max {:.5g}  mean {:.5g}", s.least, s.greatest, s.mean);
    }
    if (const auto note = notes.find(name); note != notes.end()) {
      const auto& [variable, slot] = note->second;
      entry["variable"] = variable;
      if (!slot.empty()) entry["slot"] = slot;
      text +=
          slot.empty() ? fmt::format("  {}", variable) : fmt::format("  {} of {}", slot, variable);
    }
    variables[name] = entry;
    if (!invocation.json) {
      fmt::print("  {:<36} {:<9} {:<16} {}\n", name, NameOf(dtype), reader.ShapeOf(name).Text(),
                 text);
    }
  }
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "checkpoint"}, {"path", prefix}, {"variables", variables}});
  }
  return 0;
}

int ShowEvents(const Invocation& invocation, const std::vector<std::string>& files) {
  Json tags = Json::object();
  for (const std::string& file : files) {
    for (const EventData& event : ReadEvents(file)) {
      for (const auto& value : event.values) {
        const auto* const scalar = std::get_if<float>(&value.value);
        tags[value.tag].push_back({event.step, scalar ? JsonNumber(*scalar) : Json()});
      }
    }
  }
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "events"}, {"tags", tags}});
    return 0;
  }
  for (const auto& [tag, rows] : tags.items()) {
    fmt::print("{}: {} values, last {} at step {}\n", tag, rows.size(), rows.back()[1].dump(),
               rows.back()[0].dump());
  }
  return 0;
}

int ShowRecords(const Invocation& invocation, const std::string& path) {
  RecordReader reader(path);
  Record record;
  int64_t count = 0;
  uint64_t bytes = 0;
  while (reader.Next(record)) {
    ++count;
    bytes += record.bytes.size();
  }
  if (invocation.json) {
    PrintDocument("inspect",
                  {{"kind", "tfrecord"}, {"path", path}, {"records", count}, {"bytes", bytes}});
  } else {
    fmt::print("TFRecord {}: {} records, {} bytes, every checksum right\n", path, WithCommas(count),
               WithCommas(static_cast<int64_t>(bytes)));
  }
  return 0;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = DirName(path);
  return folder.empty() ? "." : folder;
}

int InspectPath(const Invocation& invocation, const std::string& given) {
  // A folder's state file stands for the folder.
  const bool is_state = BaseName(given) == "checkpoint" && FileExists(given);
  const std::string path = is_state ? FolderOf(given) : given;
  if (const auto saved_model = SavedModelFolder(path); saved_model && !invocation.value) {
    return ShowSavedModel(invocation, *saved_model);
  } else if (saved_model) {
    return ShowCheckpoint(invocation, JoinPath(*saved_model, "variables/variables"));
  }
  if (DirectoryExists(path)) {
    if (const auto latest = LatestCheckpoint(path)) return ShowCheckpoint(invocation, *latest);
    if (const auto files = EventFiles(path); !files.empty()) return ShowEvents(invocation, files);
    throw Error(Code::kData,
                fmt::format("{}: there is no checkpoint, SavedModel or event file here", path));
  }
  const std::string prefix = CheckpointPrefix(path);
  if (CheckpointExists(prefix)) return ShowCheckpoint(invocation, prefix);
  if (!FileExists(path)) {
    throw Error(Code::kData, fmt::format("{}: there is no such file or checkpoint", path));
  }
  if (BaseName(path).find(".tfevents.") != std::string::npos) {
    return ShowEvents(invocation, {path});
  }
  return ShowRecords(invocation, path);
}

}  // namespace

int Inspect(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& /*sources*/) {
    if (invocation.arguments.size() != 1) {
      throw Error(Code::kUsage, "inspect takes one path", "tpuest inspect runs/mnist");
    }
    return InspectPath(invocation, invocation.arguments[0]);
  });
}

}  // namespace tpuest::cli
