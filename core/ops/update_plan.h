#pragma once
// Shared by the shape functions and plans of optimizer ops: inputs by name, and their two dtypes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/backend/plan.h"
#include "core/ops/state.h"
#include "core/tensor/prefetch.h"

namespace tpuest::ops {

// The position of the input called `name` in the op's signature.
[[nodiscard]] int InputIndex(const Node& node, std::string_view name);
[[nodiscard]] bool HasInput(const Node& node, std::string_view name);

// Slots and a dense gradient have the variable's shape and dtype; other inputs are scalars. With
// `indices` the gradient holds rows.
void UpdateShape(ShapeContext& context);

// The buffers of an update by name.
class UpdateInputs {
 public:
  explicit UpdateInputs(PlanContext& context) : context_(context) {}
  // The memory of a variable or slot.
  [[nodiscard]] Buffer Slot(std::string_view name) const {
    return context_.VariableInput(InputIndex(context_.node(), name));
  }
  // A tensor that is only read: the gradient, a rate.
  [[nodiscard]] Buffer Read(std::string_view name) const {
    return context_.Input(InputIndex(context_.node(), name));
  }
  [[nodiscard]] int64_t Elements(std::string_view name) const {
    return context_.InputShape(InputIndex(context_.node(), name)).elements();
  }

 private:
  PlanContext& context_;
};

// The memory of a variable, its slots (in the order of the op's inputs) and the gradient.
struct UpdateBuffers {
  explicit UpdateBuffers(PlanContext& context);
  static constexpr size_t kMost = 4;
  std::array<Buffer, kMost> slots;
  size_t count = 0;
  Buffer grad;

  // Pointers to element `at` of each slot.
  template <class T>
  [[nodiscard]] std::array<T*, kMost> At(const Task& task, int64_t at) const {
    std::array<T*, kMost> elements{};
    for (size_t s = 0; s < count; ++s) elements[s] = task.At<T>(slots[s]) + at;
    return elements;
  }
};

// The rows that an update with `indices` changes.
class UpdateRows {
 public:
  explicit UpdateRows(PlanContext& context);
  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t elements() const { return elements_; }  // per row
  // Returns the row at position i; -1 for none. Throws Error kData if the variable has no such row.
  [[nodiscard]] int64_t At(const Task& task, int64_t i) const {
    const int64_t row = Index(task, i);
    if (row < -1 || row >= rows_) [[unlikely]] {
      Fail(row);
    }
    return row;
  }
  // Prefetches the row at position i of each slot, if there is one.
  template <class T>
  void Prefetch(const UpdateBuffers& buffers, const Task& task, int64_t i) const {
    if (i >= count_) return;
    const int64_t row = Index(task, i);
    if (row < 0 || row >= rows_) return;
    const std::array<T*, UpdateBuffers::kMost> slots = buffers.At<T>(task, row * elements_);
    for (size_t s = 0; s < buffers.count; ++s) {
      PrefetchRow(slots[s], elements_ * static_cast<int64_t>(sizeof(T)));
    }
  }

 private:
  [[nodiscard]] int64_t Index(const Task& task, int64_t i) const {
    return wide_ ? task.At<int64_t>(indices_)[i] : task.At<int32_t>(indices_)[i];
  }
  [[noreturn]] void Fail(int64_t row) const;

  std::string what_;
  Buffer indices_;
  bool wide_ = false;
  int64_t count_ = 0;
  int64_t rows_ = 0;
  int64_t elements_ = 0;
};

// Updates rows of one element each, in groups of 16: one by one, moving them would cost more than
// the formula.
template <class T, class Update>
void UpdateScalars(const UpdateBuffers& buffers, const UpdateRows& rows, const Task& task,
                   const Update& update) {
  constexpr size_t kTogether = 16;
  const std::array<T*, UpdateBuffers::kMost> slots = buffers.At<T>(task, 0);
  const T* const grad = task.At<T>(buffers.grad);
  int64_t at[kTogether];
  T values[UpdateBuffers::kMost][kTogether];
  T grads[kTogether];
  T* const together[] = {values[0], values[1], values[2], values[3]};
  for (int64_t i = 0; i < rows.count();) {
    size_t n = 0;
    for (; i < rows.count() && n < kTogether; ++i) {
      const int64_t row = rows.At(task, i);
      if (row < 0) continue;
      at[n] = row;
      grads[n++] = grad[i];
    }
    for (size_t s = 0; s < buffers.count; ++s) {
      for (size_t k = 0; k < n; ++k) values[s][k] = slots[s][at[k]];
    }
    update(together, grads, static_cast<int64_t>(n));
    for (size_t s = 0; s < buffers.count; ++s) {
      for (size_t k = 0; k < n; ++k) slots[s][at[k]] = values[s][k];
    }
  }
}

// Makes a kernel that updates the whole variable or, with `indices`, its rows. prepare(task) reads
// the values that are constant within a call and returns update(T* const* slots, const T* grad, n),
// which updates n elements of each slot.
template <class T, class Prepare>
void RunUpdate(PlanContext& context, Prepare prepare) {
  const UpdateBuffers buffers(context);
  if (!HasInput(context.node(), "indices")) {
    const int64_t n = VariableShape(context.node().input(0)).elements();
    context.RunRanges(n, [=](const Task& task, int64_t begin, int64_t end) {
      prepare(task)(buffers.At<T>(task, begin).data(), task.At<T>(buffers.grad) + begin,
                    end - begin);
    });
    return;
  }
  context.Run([prepare, buffers, rows = UpdateRows(context)](const Task& task) {
    const auto update = prepare(task);
    const int64_t n = rows.elements();
    if (n == 1) return UpdateScalars<T>(buffers, rows, task, update);
    for (int64_t i = 0; i < rows.count(); ++i) {
      rows.template Prefetch<T>(buffers, task, i + kRowsAhead);
      const int64_t row = rows.At(task, i);
      if (row < 0) continue;
      update(buffers.At<T>(task, row * n).data(), task.At<T>(buffers.grad) + i * n, n);
    }
  });
}

// Calls PlanOf<float> or <double>, by the variable's dtype.
template <class Fn>
void PlanByType(const PlanContext& context, Fn&& plan) {
  if (context.Attr<DType>("T") == DType::kDouble) {
    plan.template operator()<double>();
  } else {
    plan.template operator()<float>();
  }
}

}  // namespace tpuest::ops
