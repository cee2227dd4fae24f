#include "core/estimator/checkpoint/variables.h"

#include <algorithm>
#include <new>
#include <set>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/saved/object_values.h"
#include "core/io/bundle.h"
#include "core/io/row_names.h"
#include "core/io/slice_order.h"

namespace tpuest {
namespace {

constexpr size_t kNamesShown = 3;

// "784x128", or "a scalar".
std::string Dims(const Shape& shape) {
  if (shape.rank() == 0) return "a scalar";
  std::vector<std::string> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(std::to_string(dim));
  return Join(dims, "x");
}

// The difference between a stored tensor and its variable, or "".
std::string Difference(const Tensor& stored, const Variable& variable) {
  if (stored.shape() != variable.shape) {
    return fmt::format("is {} in the checkpoint, {} in the graph", Dims(stored.shape()),
                       Dims(variable.shape));
  }
  if (stored.dtype() != variable.dtype) {
    return fmt::format("is {} in the checkpoint, {} in the graph", NameOf(stored.dtype()),
                       NameOf(variable.dtype));
  }
  return "";
}

// "\"a\", \"b\", \"c\" and 4 more".
std::string ListText(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kNamesShown) shown.push_back(fmt::format("\"{}\"", name));
  }
  const size_t rest = names.size() - shown.size();
  return Join(shown, ", ") + (rest > 0 ? fmt::format(" and {} more", rest) : "");
}

// Whether the name is "<variable>/<slot>" for one of these: a variable's fault is reported once,
// not again for its slots.
bool IsSlotOfAny(const std::vector<std::string>& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const std::string& variable) { return name.starts_with(variable + "/"); });
}

Fault MissingFault(const SavedState& saved, const Graph& graph,
                   const std::vector<std::string>& missing) {
  Fault fault{
      fmt::format(
          "{}: lacks {} of the graph's {} variables: {}; was the model or its optimizer changed?",
          BaseName(saved.prefix), missing.size(), graph.variables().size(), ListText(missing)),
      "restore the job's options, or name another model_dir; warm_start_from takes only trainable "
      "variables",
      "",
      {},
      0};
  if (saved.objects) {
    fault.hint += fmt::format(
        "; layers are found by name, then by place (layer_with_weights-0/kernel), and slots by "
        "name: this object-based checkpoint has {}",
        SlotsOfObjects(*saved.objects));
  }
  return fault;
}

using Names = std::map<std::string, std::string>;

// The checkpoint's name for a variable.
const std::string& SourceOf(const Variable& variable, const Names& names) {
  const auto given = names.find(variable.name);
  return given == names.end() ? variable.name : given->second;
}

std::vector<Fault> Differences(const SavedState& saved, const Graph& graph,
                               const std::map<std::string, Tensor>& values, const Names& names,
                               const std::set<std::string>& tables) {
  const std::string file = BaseName(saved.prefix);
  std::vector<Fault> faults;
  std::vector<std::string> missing;
  std::vector<std::string> different;
  for (const auto& variable : graph.variables()) {
    if (variable->local || tables.contains(variable->name)) continue;
    const auto found = values.find(SourceOf(*variable, names));
    if (found == values.end()) {
      missing.push_back(SourceOf(*variable, names));
      continue;
    }
    const std::string difference = Difference(found->second, *variable);
    if (difference.empty() || IsSlotOfAny(different, variable->name)) continue;
    different.push_back(variable->name);
    faults.push_back({fmt::format("{}: \"{}\" {}; was the model changed?", file,
                                  SourceOf(*variable, names), difference),
                      "restore the model's options, or name another model_dir", "",
                      variable->handle.node->origin(), 0});
  }
  if (!missing.empty()) {
    faults.push_back(MissingFault(saved, graph, missing));
  }
  return faults;
}

// Refuses a checkpoint that has only the materialized rows of a table that is needed whole.
void CheckIsWhole(const SavedState& saved, const Variable& variable, const std::string& source) {
  if (!saved.left.contains(RowValuesName(source))) return;
  throw Error(Code::kUsage,
              fmt::format("{} has only the materialized rows of \"{}\", not all of {}",
                          BaseName(saved.prefix), source, Dims(variable.shape)),
              fmt::format("set tpuest.embeddings.whole_table_bytes={} or more, and the next "
                          "checkpoint contains all of it",
                          variable.shape.elements() * static_cast<int64_t>(sizeof(float))))
      .At(variable.handle.node->origin());
}

// The value that the job gives a variable of one number; it overrides the checkpoint's.
Tensor JobsNumber(const Variable& variable, const Tensor& stored, const SavedState& saved,
                  Log* log) {
  Tensor own = ConstantValue(variable.initial_value);
  Check(own.valid(), "\"{}\" is not constant", variable.name);
  if (log != nullptr && own.AsDouble(0) != stored.AsDouble(0)) {
    log->Info("{}: \"{}\" is {}, but the job sets {}: using the job's", BaseName(saved.prefix),
              variable.name, *stored.data<float>(), *own.data<float>());
  }
  return own;
}

[[noreturn]] void ThrowTooLarge(const std::vector<const Variable*>& variables) {
  const auto bytes = [](const Variable* variable) {
    return static_cast<size_t>(variable->shape.elements()) * SizeOf(variable->dtype);
  };
  const auto* const largest =
      *std::max_element(variables.begin(), variables.end(),
                        [&](const auto* a, const auto* b) { return bytes(a) < bytes(b); });
  throw Error(
      Code::kResource,
      fmt::format("out of memory for {} variables; the largest is \"{}\", {} {}", variables.size(),
                  largest->name, NameOf(largest->dtype), largest->shape.Text()),
      "use a smaller model; tpuest plan shows how much memory it needs")
      .At(largest->handle.node->origin());
}

// Computes the initial values of these variables and puts them into the store.
void Initialize(Backend& backend, const Graph& graph, const std::vector<const Variable*>& variables,
                uint64_t seed, VariableStore& store) {
  ProgramSpec spec{.graph = &graph};
  for (const Variable* const variable : variables) spec.fetches.push_back(variable->initial_value);
  VariableStore none;
  const std::unique_ptr<Program> program = backend.Compile(spec, {.seed = seed}, none);
  const StepFeeds nothing;
  const std::vector<StepResult> results = program->Run({&nothing, 1});
  for (size_t i = 0; i < variables.size(); ++i) {
    const Tensor& value = results.front().fetches[i].front();
    Check(value.shape() == variables[i]->shape && value.dtype() == variables[i]->dtype,
          "the initial value of \"{}\" is {}", variables[i]->name, value.shape().Text());
    store.Set(variables[i]->name, value);
  }
}

}  // namespace

void InitializeVariables(Backend& backend, const Graph& graph, Which which, uint64_t seed,
                         VariableStore& store) {
  std::set<std::string> tables;
  if (which == Which::kAll) tables = MakeTables(graph, seed, store);
  std::vector<const Variable*> variables;
  for (const auto& variable : graph.variables()) {
    if (tables.contains(variable->name)) continue;
    if (which == Which::kAll || variable->local) variables.push_back(variable.get());
  }
  if (variables.empty()) return;
  try {
    Initialize(backend, graph, variables, seed, store);
  } catch (const std::bad_alloc&) {
    ThrowTooLarge(variables);
  }
}

void RestoreVariables(const SavedState& saved, const Graph& graph, VariableStore& store, Log* log,
                      const Names& names) {
  const std::set<std::string> tables = RestoreTables(saved, graph, names, store);
  std::map<std::string, Tensor> values =
      saved.objects ? ValuesFromObjects(saved, graph) : saved.tensors;
  if (saved.dealt_by_mod && saved.on_disk != nullptr && !saved.objects) {
    for (auto& [name, value] : values) {
      if (!saved.on_disk->Has(name)) continue;
      const int hosts = saved.on_disk->RowSlicesOf(name);
      if (hosts > 1) value = InRowOrder(value, hosts);
    }
  }
  for (const auto& variable : graph.variables()) {
    const std::string& source = SourceOf(*variable, names);
    if (tables.contains(variable->name) || values.contains(source)) continue;
    CheckIsWhole(saved, *variable, source);
    if (const Tensor whole = WholeValue(saved, source); whole.valid()) values[source] = whole;
  }
  std::vector<Fault> faults = Differences(saved, graph, values, names, tables);
  if (!faults.empty()) throw Error(Code::kCheckpoint, std::move(faults));
  for (const auto& variable : graph.variables()) {
    if (variable->local || tables.contains(variable->name)) continue;
    const Tensor& value = values.at(SourceOf(*variable, names));
    store.Set(variable->name,
              variable->from_job ? JobsNumber(*variable, value, saved, log) : value);
  }
}

}  // namespace tpuest
