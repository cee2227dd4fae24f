#include "cli/many/checkpoint_average.h"

#include <algorithm>
#include <set>

#include "core/base/faults.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/objects/slot_names.h"
#include "core/io/checkpoint_state.h"
#include "core/io/object_graph.h"

namespace tpuest::cli {
namespace {

using Readers = std::vector<BundleReader>;

std::optional<int64_t> GlobalStepOf(const BundleReader& reader) {
  if (!reader.Has("global_step")) return StepOfCheckpoint(reader.prefix());
  const Tensor step = reader.Read("global_step");
  const bool is_count = step.dtype() == DType::kInt64 && step.elements() == 1;
  return is_count ? std::optional(*step.data<int64_t>()) : StepOfCheckpoint(reader.prefix());
}

// The run's own entries, such as its position in the data, need not be in all checkpoints.
bool IsOfTheRun(const std::string& name) { return name.starts_with("tpuest/"); }

bool IsSlotName(const std::string& name, const BundleReader& reader) {
  if (!reader.Has(OwnerOfSlot(name))) return false;
  const std::string suffix = BaseName(name);
  return FindSlotNames(suffix, false) != nullptr || FindSlotNames(suffix, true) != nullptr;
}

// The names of an optimizer's state: slots beside their variables, all of Keras's under
// "training/", Adam's powers, and the slots of an object-based checkpoint.
std::set<std::string> OptimizerState(const BundleReader& reader) {
  std::set<std::string> state;
  for (const std::string& name : reader.Names()) {
    const std::string last = BaseName(name);
    const bool is_power = last.starts_with("beta1_power") || last.starts_with("beta2_power");
    if (is_power || IsOfKeras(name) || IsSlotName(name, reader)) state.insert(name);
  }
  if (const std::optional<ObjectGraph> objects = ReadObjectGraph(reader)) {
    for (const ObjectGraph::Node& node : objects->nodes) {
      for (const ObjectGraph::Slot& slot : node.slots) state.insert(objects->at(slot.node).key);
    }
  }
  return state;
}

std::string FormOf(const BundleReader& reader, const std::string& name) {
  return fmt::format("{} {}", NameOf(reader.DTypeOf(name)), reader.ShapeOf(name).Text());
}

void AddDifferences(const BundleReader& newest, const BundleReader& other, Faults& faults) {
  const auto say = [&](std::string message) { faults.Say("", std::move(message)); };
  for (const std::string& name : newest.Names()) {
    if (IsOfTheRun(name)) continue;
    if (!other.Has(name)) {
      say(fmt::format("{}: has no \"{}\", which {} has", other.prefix(), name, newest.prefix()));
    } else if (FormOf(other, name) != FormOf(newest, name)) {
      say(fmt::format("{}: \"{}\" is {}, but {} in {}", other.prefix(), name, FormOf(other, name),
                      FormOf(newest, name), newest.prefix()));
    }
  }
  for (const std::string& name : other.Names()) {
    if (IsOfTheRun(name) || newest.Has(name)) continue;
    say(fmt::format("{}: has \"{}\", which {} lacks", other.prefix(), name, newest.prefix()));
  }
}

void CheckAlike(const Readers& readers) {
  Faults faults;
  for (size_t i = 0; i + 1 < readers.size(); ++i) {
    AddDifferences(readers.back(), readers[i], faults);
  }
  std::vector<Fault> all = faults.Take();
  if (all.empty()) return;
  all.back().hint = "only checkpoints of the same model can be averaged";
  throw Error(Code::kCheckpoint, std::move(all));
}

Tensor MeanOf(const Readers& readers, const std::string& name) {
  Tensor sum;
  for (const BundleReader& reader : readers) {
    const Tensor values = reader.Read(name);
    if (!sum.valid()) sum = Tensor(DType::kDouble, values.shape());
    for (int64_t i = 0; i < values.elements(); ++i) sum.data<double>()[i] += values.AsDouble(i);
  }
  const auto count = static_cast<double>(readers.size());
  for (int64_t i = 0; i < sum.elements(); ++i) sum.data<double>()[i] /= count;
  return sum.Cast(readers.back().DTypeOf(name));
}

Readers OpenInOrder(const std::vector<std::string>& prefixes) {
  std::vector<std::pair<int64_t, std::string>> steps;
  for (const std::string& prefix : prefixes) {
    steps.emplace_back(GlobalStepOf(BundleReader(prefix)).value_or(-1), prefix);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Readers readers;
  for (const auto& [step, prefix] : steps) readers.emplace_back(prefix);
  return readers;
}

}  // namespace

CheckpointAverage AverageCheckpoints(const std::vector<std::string>& prefixes) {
  Check(!prefixes.empty());
  const Readers readers = OpenInOrder(prefixes);
  CheckAlike(readers);
  const BundleReader& newest = readers.back();
  CheckpointAverage average;
  for (const BundleReader& reader : readers) average.prefixes.push_back(reader.prefix());
  average.global_step = GlobalStepOf(newest);
  const std::set<std::string> kept = OptimizerState(newest);
  for (const std::string& name : newest.Names()) {
    const bool is_averaged =
        IsFloating(newest.DTypeOf(name)) && !kept.contains(name) && !IsOfTheRun(name);
    average.averaged += is_averaged ? 1 : 0;
    average.tensors.push_back({name, is_averaged ? MeanOf(readers, name) : newest.Read(name)});
  }
  return average;
}

}  // namespace tpuest::cli
