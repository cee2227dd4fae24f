#include "cli/look/inspect/checkpoint.h"

#include <map>
#include <optional>

#include "cli/look/inspect/table_note.h"
#include "cli/look/inspect/tensor_statistics.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/io/increment.h"
#include "core/io/object_graph.h"

namespace tpuest::cli {
namespace {

Json ShapeJson(const Shape& shape) { return shape.dims(); }

// The graph of objects tells this about a tensor of an object-based checkpoint.
struct ObjectNote {
  std::string variable;  // the tensor's name, or that of the variable whose slot it is
  std::string slot;      // "m"; empty: it is no slot
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

Json VariableJson(const Tensor& tensor) {
  return {{"shape", ShapeJson(tensor.shape())},
          {"dtype", NameOf(tensor.dtype())},
          {"value", JsonOf(tensor)}};
}

// The key of the tensor that a name stands for: its key, which in an object-based checkpoint may
// end before /.ATTRIBUTES; or the variable's name, and NAME/SLOT for its slot. Error kCheckpoint
// for none and for several.
std::string KeyOf(const BundleReader& reader, const std::string& name) {
  constexpr const char* kValueOf = "/.ATTRIBUTES/VARIABLE_VALUE";
  for (const std::string& key : {name, name + kValueOf}) {
    if (reader.Has(key)) return key;
  }
  std::vector<std::string> keys;
  std::vector<std::string> known = reader.Names();
  for (const auto& [key, note] : NotesOf(reader)) {
    const std::string own =
        note.slot.empty() ? note.variable : fmt::format("{}/{}", note.variable, note.slot);
    if (own.empty() || !reader.Has(key)) continue;
    known.push_back(own);
    if (own == name) keys.push_back(key);
  }
  if (keys.size() == 1) return keys.front();
  if (keys.size() > 1) {
    throw Error(
        Code::kCheckpoint,
        fmt::format("{}: \"{}\" is the name of {} variables", reader.prefix(), name, keys.size()),
        "name one of their keys: " + Join(keys, ", "));
  }
  const std::optional<std::string> near = Nearest(name, known);
  throw Error(
      Code::kCheckpoint, fmt::format("{}: has no \"{}\"", reader.prefix(), name),
      near ? fmt::format("did you mean \"{}\"?", *near) : "omit --value to list its variables");
}

// Prints just the value of one variable, or the values of several, each after its name.
int ShowValues(const InspectInvocation& invocation, const BundleReader& reader) {
  const std::vector<std::string>& names = invocation.values;
  std::vector<Tensor> tensors;
  for (const std::string& name : names) tensors.push_back(reader.Read(KeyOf(reader, name)));
  if (invocation.json) {
    Json document = {{"kind", names.size() == 1 ? "variable" : "variables"}};
    if (names.size() == 1) {
      document["name"] = names[0];
      document.update(VariableJson(tensors[0]));
    } else {
      for (size_t i = 0; i < names.size(); ++i) {
        document["variables"][names[i]] = VariableJson(tensors[i]);
      }
    }
    PrintDocument("inspect", document);
    return 0;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    fmt::print("{}{}\n", names.size() == 1 ? "" : names[i] + ": ",
               JsonOf(tensors[i]).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return 0;
}

void AddStatistics(const TensorStatistics& s, Json& entry, std::string& text) {
  if (s.count > 0) {
    entry.update(
        {{"min", s.min}, {"max", s.max}, {"mean", s.mean}, {"std", s.std}, {"sum", s.sum}});
    text = fmt::format("min {:.5g}  max {:.5g}  mean {:.5g}", s.min, s.max, s.mean);
    if (s.count > 1) text += fmt::format("  std {:.5g}", s.std);
  }
  entry.update({{"zeros", s.zeros}, {"nan", s.nans}, {"inf", s.infs}});
  if (s.zeros > 0 && s.count > 1) text += fmt::format("  zeros {}", WithCommas(s.zeros));
  if (s.nans > 0) text += fmt::format("  NaN {}", WithCommas(s.nans));
  if (s.infs > 0) text += fmt::format("  Inf {}", WithCommas(s.infs));
}

struct Totals {
  int64_t tensors = 0;
  int64_t bytes = 0;
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t not_finite = 0;
};

class CheckpointPrinter {
 public:
  CheckpointPrinter(const BundleReader& reader, bool prints)
      : reader_(reader), notes_(NotesOf(reader)), prints_(prints) {}

  // Prints the tensor's line, unless --json, and returns its entry of the document.
  [[nodiscard]] Json Show(const std::string& name) {
    const DType dtype = reader_.DTypeOf(name);
    const Shape shape = reader_.ShapeOf(name);
    Json entry = {{"shape", ShapeJson(shape)}, {"dtype", TypeName(dtype)}};
    std::string text;
    std::optional<TensorStatistics> statistics;
    std::optional<TableNote> table;
    std::optional<SeenNote> seen;
    if (SizeOf(dtype) > 0) {
      const Tensor tensor = reader_.Read(name);
      statistics = StatisticsOf(tensor);
      table = NoteOfTable(reader_, name, tensor);
      seen = NoteOfSeen(name, tensor);
    }
    if (seen) {
      entry["seen"] = JsonOf(*seen);
      text = TextOf(*seen);
    } else if (statistics) {
      AddStatistics(*statistics, entry, text);
      totals_.not_finite += statistics->nans + statistics->infs;
    }
    if (table) {
      entry["table"] = JsonOf(*table);
      text += "  " + TextOf(*table);
    }
    Count(name, shape.elements(), shape.elements() * static_cast<int64_t>(SizeOf(dtype)));
    AddNote(name, entry, text);
    if (prints_) {
      fmt::print("  {:<36} {:<9} {:<16} {}\n", name, TypeName(dtype), shape.Text(), text);
    }
    return entry;
  }
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void Count(const std::string& name, int64_t elements, int64_t bytes) {
    ++totals_.tensors;
    totals_.bytes += bytes;
    const auto note = notes_.find(name);
    const bool is_slot = note != notes_.end() && !note->second.slot.empty();
    if (is_slot || IsBesideParameters(reader_, name)) return;
    totals_.parameters += elements;
    totals_.parameter_bytes += bytes;
  }
  void AddNote(const std::string& name, Json& entry, std::string& text) const {
    const auto note = notes_.find(name);
    if (note == notes_.end()) return;
    const auto& [variable, slot] = note->second;
    entry["variable"] = variable;
    if (!slot.empty()) entry["slot"] = slot;
    text +=
        slot.empty() ? fmt::format("  {}", variable) : fmt::format("  {} of {}", slot, variable);
  }

  const BundleReader& reader_;
  std::map<std::string, ObjectNote> notes_;
  bool prints_;
  Totals totals_;
};

Json ShardsOf(const std::string& prefix) {
  Json shards = Json::array();
  const std::string folder = DirName(prefix).empty() ? "." : std::string(DirName(prefix));
  const std::string beginning = fmt::format("{}{}", BaseName(prefix), kDataEnding);
  for (const std::string& name : ListDirectory(folder)) {
    if (!name.starts_with(beginning)) continue;
    shards.push_back({{"file", name}, {"bytes", FileSize(JoinPath(folder, name))}});
  }
  return shards;
}

// Returns the contents of an increment's own files, and its base checkpoint.
Json IncrementJson(const Increment& increment) {
  Json tables = Json::object();
  for (const std::string& table : increment.Tables()) {
    tables[table] = increment.ChangedRows(table).size();
  }
  return {{"base", increment.base().prefix},
          {"place", increment.base().place},
          {"changed_rows", std::move(tables)}};
}

void PrintIncrement(const Increment& increment) {
  int64_t rows = 0;
  for (const std::string& table : increment.Tables()) {
    rows += static_cast<int64_t>(increment.ChangedRows(table).size());
  }
  fmt::print("incremental: {} rows of {} tables, changed since its base checkpoint {}\n",
             WithCommas(rows), increment.Tables().size(), BaseName(increment.base().prefix));
}

void PrintTotals(const Totals& totals, const Json& shards) {
  fmt::print("{} tensors, {}; {} parameters, {}\n", WithCommas(totals.tensors),
             BytesText(totals.bytes), WithCommas(totals.parameters),
             BytesText(totals.parameter_bytes));
  if (totals.not_finite > 0) {
    fmt::print("{} values are NaN or infinite\n", WithCommas(totals.not_finite));
  }
  for (const Json& shard : shards) {
    fmt::print("{}: {}\n", shard["file"].get<std::string>(),
               BytesText(shard["bytes"].get<int64_t>()));
  }
}

}  // namespace

bool IsBesideParameters(const BundleReader& reader, const std::string& name) {
  if (!IsFloating(reader.DTypeOf(name))) return true;  // global_step, save_counter
  if (name.starts_with("tpuest/") || IsOfKeras(name)) return true;
  const std::string last = BaseName(name);
  if (last.starts_with("beta1_power") || last.starts_with("beta2_power")) return true;
  if (name.find("/.OPTIMIZER_SLOT/") != std::string::npos) return true;
  const bool of_objects = name.find("/.ATTRIBUTES/") != std::string::npos;
  if (of_objects) return name.starts_with("optimizer/");
  if (name.ends_with("-values") && reader.Has(OwnerOfSlot(name) + "-values")) return true;
  return reader.Has(OwnerOfSlot(name));
}

int ShowCheckpoint(const InspectInvocation& invocation, const std::string& prefix) {
  const BundleReader reader(prefix);
  if (!invocation.values.empty()) return ShowValues(invocation, reader);
  const Increment* const increment = reader.increment();
  if (!invocation.json) fmt::print("checkpoint {}\n", prefix);
  if (!invocation.json && increment != nullptr) PrintIncrement(*increment);
  CheckpointPrinter printer(reader, !invocation.json);
  Json variables = Json::object();
  for (const std::string& name : reader.Names()) variables[name] = printer.Show(name);
  const Json shards = ShardsOf(prefix);
  if (!invocation.json) {
    PrintTotals(printer.totals(), shards);
    return 0;
  }
  Json document = {{"kind", "checkpoint"},
                   {"path", prefix},
                   {"variables", variables},
                   {"parameters", printer.totals().parameters},
                   {"bytes", printer.totals().bytes},
                   {"shards", shards}};
  if (increment != nullptr) document["incremental"] = IncrementJson(*increment);
  PrintDocument("inspect", document);
  return 0;
}

}  // namespace tpuest::cli
