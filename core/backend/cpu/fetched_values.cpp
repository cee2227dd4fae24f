#include "core/backend/cpu/fetched_values.h"

#include <cstring>
#include <utility>
#include <variant>

#include "core/base/error.h"

namespace tpuest {
namespace {

// The strings of the graph's constants, and of tables.
std::vector<StringArena> ConstantStrings(const Graph& graph) {
  std::vector<StringArena> arenas;
  for (const auto& node : graph.nodes()) {
    for (const auto& [name, attr] : node->attrs()) {
      const Tensor* const tensor = std::get_if<Tensor>(&attr);
      if (tensor != nullptr && tensor->arena() != nullptr) arenas.push_back(tensor->arena());
    }
  }
  return arenas;
}

}  // namespace

FetchedValues::FetchedValues(const CompiledProgram& program, const StepMemory& memory)
    : program_(program),
      memory_(memory),
      constant_strings_(ConstantStrings(*program.bound.graph)) {}

std::deque<std::string>& FetchedValues::BeginStep() {
  strings_ = std::make_shared<Strings>();
  strings_->constant = constant_strings_;
  return strings_->made;
}

void FetchedValues::CopyTo(StepResult& result) const {
  for (size_t i = 0; i < program_.bound.fetches.size(); ++i) {
    result.fetches.push_back(OnReplicas(program_.bound.fetches[i], program_.plan.fetches[i]));
  }
  if (program_.options.collective != nullptr) Gather(result);
}

// Copies a value that all replicas share once; all replicas then have the same tensor.
std::vector<Tensor> FetchedValues::OnReplicas(const Value& value, Buffer buffer) const {
  const bool shared = program_.IsShared(value);
  std::vector<Tensor> tensors;
  for (int r = 0; r < program_.options.replicas; ++r) {
    const bool is_there = r > 0 && (shared || r >= program_.here.count);
    tensors.push_back(is_there ? tensors[0] : CopyOf(value, buffer, r));
  }
  return tensors;
}

// A string is copied as a view, so the result holds on to all memory that it may point into.
Tensor FetchedValues::CopyOf(const Value& value, Buffer buffer, int replica) const {
  if (value.dtype() != DType::kString) return memory_.CopyOf(value, buffer, replica);
  for (const std::vector<Tensor>& feed : memory_.feeds()) {
    for (const Tensor& fed : feed) {
      if (fed.arena() != nullptr) strings_->fed.push_back(fed.arena());
    }
  }
  const auto* const views = static_cast<const std::string_view*>(memory_.At(buffer, replica));
  return Tensor::Views(value.shape(), {views, views + value.shape().elements()}, strings_);
}

// Puts the fetches of the other processes' replicas into the chief's result. Each process sends
// those of its own replicas, one after the other.
void FetchedValues::Gather(StepResult& result) const {
  const int here = program_.here.count;
  std::string own;
  for (size_t i = 0; i < program_.bound.fetches.size(); ++i) {
    const Value& value = program_.bound.fetches[i];
    if (program_.IsShared(value)) continue;
    Check(value.dtype() != DType::kString, "strings do not go between processes");
    for (int r = 0; r < here; ++r) {
      const Tensor& tensor = result.fetches[i][static_cast<size_t>(r)];
      own.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    }
  }
  if (own.empty()) return;
  const std::vector<std::string> all = program_.options.collective->Gather(own);
  for (size_t process = 1; process < all.size(); ++process) {
    Put(all[process], static_cast<int>(process) * here, result);
  }
}

void FetchedValues::Put(std::string_view from, int first, StepResult& result) const {
  for (size_t i = 0; i < program_.bound.fetches.size(); ++i) {
    const Value& value = program_.bound.fetches[i];
    if (program_.IsShared(value)) continue;
    for (int r = 0; r < program_.here.count; ++r) {
      Tensor tensor(value.dtype(), value.shape());
      Check(tensor.bytes() <= from.size(), "results of another program were gathered");
      if (tensor.bytes() > 0) std::memcpy(tensor.raw(), from.data(), tensor.bytes());
      from.remove_prefix(tensor.bytes());
      result.fetches[i][static_cast<size_t>(first) + static_cast<size_t>(r)] = std::move(tensor);
    }
  }
}

}  // namespace tpuest
