// Compares the speed of tables' rows with that of the machine's memory. Prints one JSON line each:
//
//   random rmw   128 bytes at a random place of 2 GiB read, changed and written, the places known
//                ahead, on one thread
//   lookup and update   the same work by RowTable: weights read, then weights and a slot read,
//                Adagrad, both written

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "core/backend/rows/row_table.h"

namespace tpuest {
namespace {

constexpr int64_t kWidth = 16;
constexpr int64_t kRecordFloats = 2 * kWidth;
constexpr int64_t kAhead = 32;
constexpr int kTimes = 5;

double SecondsOf(const std::function<void()>& work) {
  double best = INFINITY;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

std::vector<int64_t> Places(int64_t rows, size_t n) {
  std::mt19937_64 draw(1);
  std::vector<int64_t> places(n);
  for (int64_t& place : places) place = static_cast<int64_t>(draw() % static_cast<uint64_t>(rows));
  return places;
}

void Report(const char* what, size_t n, double seconds) {
  fmt::print("{{\"bench\": \"{}\", \"rows_per_s\": {:.0f}}}\n", what,
             static_cast<double>(n) / seconds);
}

double RandomRate(size_t n) {
  constexpr int64_t kRows = (int64_t{2} << 30) / (kRecordFloats * 4);
  const size_t bytes = size_t{2} << 30;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  auto* const records = static_cast<float*>(memory);
  for (size_t i = 0; i < bytes / sizeof(float); i += 1024) records[i] = 1;
  const std::vector<int64_t> places = Places(kRows, n);
  const double seconds = SecondsOf([&] {
    for (size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(records + places[i + kAhead] * kRecordFloats, 1);
      float* const record = records + places[i] * kRecordFloats;
      for (int64_t k = 0; k < kWidth; ++k) {
        record[kWidth + k] += 0.25F;
        record[k] -= 0.05F / std::sqrt(record[kWidth + k]);
      }
    }
  });
  ::munmap(memory, bytes);
  return seconds;
}

double TableRate(size_t n, RowLayout layout) {
  const int64_t rows = int64_t{16} << 20;
  const RowDraw zeros = [](std::span<const uint64_t> firsts, int64_t count, float* to) {
    std::fill_n(to, static_cast<int64_t>(firsts.size()) * count, .1F);
  };
  RowTable table(rows, kWidth, {{"t", zeros}, {"t/Adagrad", zeros}}, {.layout = layout});
  const std::vector<int64_t> places = Places(rows, n);
  std::vector<float> weights(static_cast<size_t>(kWidth) * 256);
  std::vector<float> slots(weights.size());
  const auto pass = [&] {
    for (size_t first = 0; first < n; first += 256) {
      const std::span<const int64_t> some(places.data() + first, std::min<size_t>(256, n - first));
      table.Read(0, some, weights.data());  // the way forward
      table.Read(0, some, weights.data());
      table.Read(1, some, slots.data());
      for (size_t k = 0; k < some.size() * kWidth; ++k) {
        slots[k] += 0.25F;
        weights[k] -= 0.05F / std::sqrt(slots[k]);
      }
      for (size_t i = 0; i < some.size(); ++i) table.Write(0, some[i], &weights[i * kWidth]);
      for (size_t i = 0; i < some.size(); ++i) table.Write(1, some[i], &slots[i * kWidth]);
    }
  };
  pass();  // writes every row once before measuring
  return SecondsOf(pass);
}

int Main() {
  constexpr size_t kRows = size_t{1} << 21;
  Report("random rmw", kRows, RandomRate(kRows));
  Report("lookup and update, array", kRows, TableRate(kRows, RowLayout::kArray));
  Report("lookup and update, index", kRows, TableRate(kRows, RowLayout::kIndex));
  return 0;
}

}  // namespace
}  // namespace tpuest

int main() { return tpuest::Main(); }
