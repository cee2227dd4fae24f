#include "core/backend/cpu/update_gate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/backend/rows/row_table.h"
#include "core/base/message.h"
#include "core/graph/update_bounds.h"
#include "core/kernels/isa/optimizer.h"

namespace tpuest {
namespace {

constexpr int64_t kLookElements = 1 << 15;

constexpr double kLeastVariance = 1e-20;
constexpr double kLeastPartOfMs = 1e-6;  // far above the rounding error

// Read as integers, the bits of floats without their sign have the floats' order, with infinity and
// NaN above all numbers. The loop therefore has no branch and vectorizes.
template <class T, class Bits>
bool IsWithin(const T* values, int64_t n, double least, double most) {
  constexpr Bits kSign = Bits(1) << (sizeof(Bits) * 8 - 1);
  const double magnitude = std::max(-least, most);
  Bits largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    largest = std::max<Bits>(largest, std::bit_cast<Bits>(values[i]) & ~kSign);
  }
  if (largest > std::bit_cast<Bits>(static_cast<T>(magnitude))) return false;
  if (least == -most) return true;
  return std::all_of(values, values + n,
                     [low = static_cast<T>(least), high = static_cast<T>(most)](T value) {
                       return value >= low && value <= high;
                     });
}

bool IsWithin(DType dtype, const void* memory, int64_t begin, int64_t end, double least,
              double most) {
  if (dtype == DType::kDouble) {
    const auto* const values = static_cast<const double*>(memory) + begin;
    return IsWithin<double, uint64_t>(values, end - begin, least, most);
  }
  const auto* const values = static_cast<const float*>(memory) + begin;
  return IsWithin<float, uint32_t>(values, end - begin, least, most);
}

// Rarely called; also handles the small float types.
bool IsFinite(const WrittenVariable& variable) {
  if (!IsFloating(variable.dtype)) return true;
  if (variable.dtype == DType::kFloat || variable.dtype == DType::kDouble) {
    const double most = variable.dtype == DType::kFloat ? std::numeric_limits<float>::max()
                                                        : std::numeric_limits<double>::max();
    return IsWithin(variable.dtype, variable.memory, 0, variable.elements, -most, most);
  }
  const auto* const halves = static_cast<const uint16_t*>(variable.memory);
  const uint16_t exponent = variable.dtype == DType::kBfloat16 ? 0x7F80 : 0x7C00;
  return std::all_of(halves, halves + variable.elements,
                     [exponent](uint16_t bits) { return (bits & exponent) != exponent; });
}

// Rows [begin, end) of the gradient.
template <class T, class Index>
bool RowsHaveVariance(const CenteredUpdate& update, const std::function<const void*(Buffer)>& at,
                      int64_t begin, int64_t end) {
  RMSPropRates<T> rates{};
  rates.rho = *static_cast<const T*>(at(update.rho));
  rates.epsilon = *static_cast<const T*>(at(update.epsilon));
  const RootBounds<T> bounds{static_cast<T>(kLeastVariance), static_cast<T>(kLeastPartOfMs)};
  const auto* const mg = static_cast<const T*>(update.mg);
  const auto* const ms = static_cast<const T*>(update.ms);
  const T* const grad = static_cast<const T*>(at(update.grad)) + begin * update.width;
  if (update.indices.id < 0) {
    const int64_t from = begin * update.width;
    return HasVariance(mg + from, ms + from, grad, (end - begin) * update.width, rates, bounds);
  }
  const auto* const indices = static_cast<const Index*>(at(update.indices));
  for (int64_t i = begin; i < end; ++i) {
    if (indices[i] < 0) continue;  // padding
    const int64_t from = static_cast<int64_t>(indices[i]) * update.width;
    const T* const of_row = grad + (i - begin) * update.width;
    if (!HasVariance(mg + from, ms + from, of_row, update.width, rates, bounds)) return false;
  }
  return true;
}

bool RowsHaveVariance(const CenteredUpdate& update, const std::function<const void*(Buffer)>& at,
                      int64_t begin, int64_t end) {
  const bool wide = update.index_dtype == DType::kInt64;
  if (update.dtype == DType::kDouble) {
    return wide ? RowsHaveVariance<double, int64_t>(update, at, begin, end)
                : RowsHaveVariance<double, int32_t>(update, at, begin, end);
  }
  return wide ? RowsHaveVariance<float, int64_t>(update, at, begin, end)
              : RowsHaveVariance<float, int32_t>(update, at, begin, end);
}

// Whether the n indices are unique and less than `rows`; -1 is padding. `seen` has an entry per
// row, all false before and after the call.
template <class Index>
bool NumberRowsOnce(const Index* indices, int64_t n, int64_t rows, std::vector<bool>& seen) {
  int64_t looked_at = 0;
  bool once = true;
  for (; looked_at < n && once; ++looked_at) {
    const int64_t row = indices[looked_at];
    if (row < 0) continue;
    once = row < rows && !seen[static_cast<size_t>(row)];
    if (once) seen[static_cast<size_t>(row)] = true;
  }
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t row = indices[i];
    if (row >= 0 && row < rows) seen[static_cast<size_t>(row)] = false;
  }
  return once;
}

size_t BytesOf(const WrittenVariable& variable) {
  return static_cast<size_t>(variable.elements) * SizeOf(variable.dtype);
}

}  // namespace

UpdateGate::UpdateGate(const CpuPlan& plan, const VariableStore& variables, ThreadTeam& team,
                       Collective* collective)
    : plan_(plan),
      variables_(variables),
      team_(team),
      sharers_(plan.shares_tables ? collective : nullptr) {}

void UpdateGate::BeginRun() {
  for (size_t i = 0; i < versions_.size(); ++i) {
    if (versions_[i] != variables_.version(plan_.written[i].name)) sure_steps_ = 0;
  }
}

void UpdateGate::EndRun() {
  versions_.clear();
  for (const WrittenVariable& written : plan_.written) {
    versions_.push_back(variables_.version(written.name));
  }
}

// For small tensors waking the team does not pay.
bool UpdateGate::All(size_t parts, int64_t elements, const std::function<bool(size_t)>& holds) {
  std::atomic<bool> all = true;
  const auto look = [&](int i, int /*thread*/) {
    if (!holds(static_cast<size_t>(i))) all = false;
  };
  const int count = static_cast<int>(parts);
  if (elements > kLookElements) {
    team_.ForEach(count, look);
  } else {
    for (int i = 0; i < count; ++i) look(i, 0);
  }
  return all;
}

bool UpdateGate::AreWithin(const std::vector<Look>& looks) {
  struct Part {
    const Look* look;
    int64_t begin;
  };
  std::vector<Part> parts;
  int64_t elements = 0;
  for (const Look& look : looks) {
    if (look.dtype != DType::kFloat && look.dtype != DType::kDouble) return false;
    elements += look.elements;
    for (int64_t at = 0; at < look.elements; at += kLookElements) parts.push_back({&look, at});
  }
  return All(parts.size(), elements, [&](size_t i) {
    const auto& [of, begin] = parts[i];
    const int64_t end = std::min(begin + kLookElements, of->elements);
    return IsWithin(of->dtype, of->memory, begin, end, of->least, of->most);
  });
}

bool UpdateGate::VariablesAreWithin() {
  if (!plan_.updates_are_bounded) return false;
  if (sure_steps_ > 0) return true;
  std::vector<Look> looks;
  for (const WrittenVariable& written : plan_.written) {
    if (!IsFloating(written.dtype)) continue;
    looks.push_back({written.memory, written.dtype, written.elements, written.least, written.most});
  }
  if (!AreWithin(looks)) return false;
  sure_steps_ = kSureSteps;
  return true;
}

bool UpdateGate::UpdateRowsOnce(const CenteredUpdate& update,
                                const std::function<const void*(Buffer)>& at) {
  if (update.indices.id < 0) return true;
  const int64_t rows = update.variable_rows;
  if (static_cast<int64_t>(seen_rows_.size()) < rows) seen_rows_.resize(static_cast<size_t>(rows));
  const void* const indices = at(update.indices);
  return update.index_dtype == DType::kInt64
             ? NumberRowsOnce(static_cast<const int64_t*>(indices), update.rows, rows, seen_rows_)
             : NumberRowsOnce(static_cast<const int32_t*>(indices), update.rows, rows, seen_rows_);
}

bool UpdateGate::RootsAreWithin(const std::function<const void*(Buffer)>& at) {
  if (!std::all_of(plan_.centered.begin(), plan_.centered.end(),
                   [&](const CenteredUpdate& update) { return UpdateRowsOnce(update, at); })) {
    return false;
  }
  struct Part {
    const CenteredUpdate* update;
    int64_t begin;
    int64_t end;
  };
  std::vector<Part> parts;
  int64_t elements = 0;
  for (const CenteredUpdate& update : plan_.centered) {
    elements += update.rows * update.width;
    const int64_t rows = std::max<int64_t>(kLookElements / std::max<int64_t>(update.width, 1), 1);
    for (int64_t from = 0; from < update.rows; from += rows) {
      parts.push_back({&update, from, std::min(from + rows, update.rows)});
    }
  }
  return All(parts.size(), elements, [&](size_t i) {
    return RowsHaveVariance(*parts[i].update, at, parts[i].begin, parts[i].end);
  });
}

void UpdateGate::BeforeRowUpdates() {
  for (const RowColumn* const rows : plan_.tables) rows->table->Note();
}

// Each process sends one message: whether its guard holds, whether it copies values, and its first
// non-finite table.
UpdateGate::Found UpdateGate::BeforeUpdates(const std::function<const void*(Buffer)>& at,
                                            bool guard_holds) {
  keeps_ = !VariablesAreWithin();
  if (!keeps_) {
    std::vector<Look> looks;
    for (const UpdateInput& input : plan_.update_inputs) {
      looks.push_back({at(input.buffer), input.dtype, input.elements, input.least, input.most});
    }
    keeps_ = !AreWithin(looks) || !RootsAreWithin(at);
  }
  Found all{.guard_holds = guard_holds, .not_finite = BadTable()};
  if (sharers_ != nullptr) {
    MessageWriter own;
    own.Number(guard_holds);
    own.Number(keeps_);
    own.Text(all.not_finite);
    for (const std::string& bytes : sharers_->GatherInAll(own.bytes())) {
      MessageReader found(bytes);
      all.guard_holds = found.Number<bool>() && all.guard_holds;
      keeps_ = found.Number<bool>() || keeps_;
      const std::string_view bad = found.Text();
      if (all.not_finite.empty()) all.not_finite = bad;
    }
  }
  if (!all.guard_holds || !all.not_finite.empty()) {
    TakeBackRows();
  } else if (keeps_) {
    Keep();
  }
  return all;
}

std::string UpdateGate::AfterUpdates() {
  std::string bad;
  if (keeps_) {
    sure_steps_ = 0;
    bad = InAny(NotFinite());
    if (!bad.empty()) PutBack();
  } else {
    --sure_steps_;
  }
  for (const RowColumn* const rows : plan_.tables) rows->table->Forget();
  return bad;
}

// Each process checks the rows that it wrote; the first non-empty result is used.
std::string UpdateGate::InAny(const std::string& bad) const {
  if (sharers_ == nullptr) return bad;
  for (const std::string& found : sharers_->GatherInAll(bad)) {
    if (!found.empty()) return found;
  }
  return "";
}

std::string UpdateGate::NotFinite() const {
  const auto variable =
      std::find_if(plan_.written.begin(), plan_.written.end(),
                   [](const WrittenVariable& written) { return !IsFinite(written); });
  return variable != plan_.written.end() ? variable->name : BadTable();
}

std::string UpdateGate::BadTable() const {
  const auto table = std::find_if(plan_.tables.begin(), plan_.tables.end(),
                                  [](const auto* t) { return !t->table->NotedIsFinite(); });
  return table == plan_.tables.end() ? "" : (*table)->table->variables().front().name;
}

void UpdateGate::Keep() {
  kept_.resize(plan_.written.size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    const WrittenVariable& written = plan_.written[i];
    const auto* const from = static_cast<const char*>(written.memory);
    kept_[i].assign(from, from + BytesOf(written));
  }
}

void UpdateGate::PutBack() {
  for (size_t i = 0; i < kept_.size(); ++i) {
    std::memcpy(plan_.written[i].memory, kept_[i].data(), kept_[i].size());
  }
  TakeBackRows();
}

void UpdateGate::TakeBackRows() {
  for (const RowColumn* const rows : plan_.tables) rows->table->TakeBack();
}

}  // namespace tpuest
