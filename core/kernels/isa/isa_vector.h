#pragma once
// A vector with as many floats as a register, for the sources that are compiled once per vector
// instruction set; compilers compare and select wider vectors one number at a time. A lane is a
// channel or an element, so the bits do not depend on the number of lanes. Vectors are only passed
// by reference: passed by value, their calling convention would depend on the instruction set.

#include <cstdint>
#include <cstring>

#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {

#ifdef __AVX512F__
inline constexpr int64_t kVectorLanes = 16;
#else
inline constexpr int64_t kVectorLanes = 8;
#endif
using FloatVector = float __attribute__((vector_size(kVectorLanes * sizeof(float))));
using WordVector = uint32_t __attribute__((vector_size(kVectorLanes * sizeof(uint32_t))));
using HalfVector = uint16_t __attribute__((vector_size(kVectorLanes * sizeof(uint16_t))));

// Marks a vector that lies completely in memory.
struct WholeVector {};
struct PartOfVector {
  int64_t lanes;
};

[[gnu::always_inline]] inline void Load(const float* from, WholeVector /*how*/, FloatVector& to) {
  std::memcpy(&to, from, sizeof(to));
}

[[gnu::always_inline]] inline void Load(const bfloat16* from, WholeVector /*how*/,
                                        FloatVector& to) {
  HalfVector half;
  std::memcpy(&half, from, sizeof(half));
  const WordVector words = __builtin_convertvector(half, WordVector) << 16;
  std::memcpy(&to, &words, sizeof(to));
}

// Missing lanes are 0.
template <class T>
void Load(const T* from, PartOfVector how, FloatVector& to) {
  to = FloatVector{};
  for (int64_t i = 0; i < how.lanes; ++i) to[i] = ConvertTo<float>(from[i]);
}

[[gnu::always_inline]] inline void Store(const FloatVector& from, WholeVector /*how*/, float* to) {
  std::memcpy(to, &from, sizeof(from));
}

// Rounds as bfloat16 does.
[[gnu::always_inline]] inline void Store(const FloatVector& from, WholeVector /*how*/,
                                         bfloat16* to) {
  WordVector words;
  std::memcpy(&words, &from, sizeof(words));
  const WordVector rounded = words + 0x7FFFU + ((words >> 16) & 1U);
  const WordVector quiet = words | 0x400000U;
  const WordVector kept = (words & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded;
  const HalfVector half = __builtin_convertvector(kept >> 16, HalfVector);
  std::memcpy(static_cast<void*>(to), &half, sizeof(half));
}

template <class T>
void Store(const FloatVector& from, PartOfVector how, T* to) {
  for (int64_t i = 0; i < how.lanes; ++i) to[i] = ConvertTo<T>(from[i]);
}

// Rounds the numbers to T, as storing and loading them would.
template <class T>
[[gnu::always_inline]] inline void RoundTo(FloatVector& numbers) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    bfloat16 memory[kVectorLanes];
    Store(numbers, WholeVector{}, memory);
    Load(memory, WholeVector{}, numbers);
  }
}

// Calls fn(lane, the part of a vector that exists) for n lanes.
template <class Fn>
[[gnu::always_inline]] inline void ForEachVector(int64_t n, Fn&& fn) {
  int64_t lane = 0;
  for (; lane + kVectorLanes <= n; lane += kVectorLanes) fn(lane, WholeVector{});
  if (lane < n) fn(lane, PartOfVector{n - lane});
}

}  // namespace tpuest::TPUEST_ISA
