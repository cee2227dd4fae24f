#include "core/estimator/checkpoint/row_seen.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "core/backend/row_set.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saved_entries.h"
#include "core/io/increment.h"

namespace tpuest {
namespace {

constexpr std::string_view kSeen = "tpuest/seen/";
constexpr int64_t kSeenNumbers = 4;  // of a row
constexpr size_t kSightsAtOnce = size_t{1} << 15;

// The numbers of what is known of a row, as an entry has them.
using SeenNumbers = std::array<int64_t, kSeenNumbers>;

SeenNumbers NumbersOf(const Sight& sight) {
  return {sight.row, sight.count, sight.last_step, sight.is_trained};
}

Sight SightOf(const SeenNumbers& numbers) {
  return {.row = numbers[0],
          .last_step = numbers[2],
          .count = static_cast<uint32_t>(std::clamp<int64_t>(numbers[1], 0, UINT32_MAX)),
          .is_trained = numbers[3] == 1 ? 1U : 0U};
}

std::shared_ptr<const StreamedTensor> SeenStream(std::vector<Sight> known) {
  const auto sights = std::make_shared<const std::vector<Sight>>(std::move(known));
  return std::make_shared<StreamedTensor>(
      StreamedTensor{.dtype = DType::kInt64,
                     .shape = Shape({static_cast<int64_t>(sights->size()), kSeenNumbers}),
                     .write = [sights](const TakeBytesFn& take) {
                       std::vector<SeenNumbers> numbers;
                       for (size_t first = 0; first < sights->size(); first += kSightsAtOnce) {
                         numbers.clear();
                         const size_t end = std::min(first + kSightsAtOnce, sights->size());
                         for (size_t i = first; i < end; ++i)
                           numbers.push_back(NumbersOf((*sights)[i]));
                         take({reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(SeenNumbers)});
                       }
                     }});
}

}  // namespace

std::vector<NamedTensor> SeenEntries(const VariableStore& store) {
  std::vector<NamedTensor> entries;
  for (const auto& [weights, table] : store.counted()) {
    entries.push_back({SeenName(weights), {}, SeenStream(table.sights->Sorted())});
  }
  return entries;
}

std::vector<NamedTensor> ChangedSeenEntries(const VariableStore& store) {
  std::vector<NamedTensor> entries;
  for (const auto& [weights, table] : store.counted()) {
    std::vector<Sight> sights;
    std::vector<int64_t> gone;
    for (const int64_t row : table.sights->changed()->Sorted()) {
      if (const std::optional<Sight> sight = table.sights->Of(row)) {
        sights.push_back(*sight);
      } else {
        gone.push_back(row);
      }
    }
    entries.push_back({ChangedLinesName(SeenName(weights)), {}, SeenStream(std::move(sights))});
    Tensor rows(DType::kInt64, {static_cast<int64_t>(gone.size())});
    std::copy(gone.begin(), gone.end(), rows.data<int64_t>());
    entries.push_back({GoneLinesName(SeenName(weights)), std::move(rows)});
  }
  return entries;
}

std::vector<std::string> SeenNames(const VariableStore& store) {
  std::vector<std::string> names;
  for (const auto& [weights, table] : store.counted()) names.push_back(SeenName(weights));
  return names;
}

std::string SeenName(const std::string& table) { return std::string(kSeen) + table; }

std::map<std::string, Tensor> WithSeen(const VariableStore& store) {
  std::map<std::string, Tensor> all = store.tensors();
  for (const NamedTensor& entry : SeenEntries(store)) {
    Tensor numbers(DType::kInt64, entry.streamed->shape);
    auto* to = static_cast<char*>(numbers.raw());
    entry.streamed->write([&](std::string_view bytes) {
      std::memcpy(to, bytes.data(), bytes.size());
      to += bytes.size();
    });
    all.emplace(entry.name, std::move(numbers));
  }
  return all;
}

bool IsSeenEntry(std::string_view name) { return name.starts_with(kSeen); }

std::vector<Sight> SavedSights(const SavedState& saved, const std::string& table, int64_t rows) {
  const std::string name = SeenName(table);
  const SavedEntries entries(saved);
  const std::optional<Shape> shape = entries.ShapeOf(name, DType::kInt64);
  if (!shape) return {};
  std::vector<Sight> sights;
  bool is_sound = shape->rank() == 2 && shape->dim(1) == kSeenNumbers;
  if (is_sound) {
    const std::vector<int64_t> all = entries.Integers(name);
    int64_t next = 0;  // the least that a row's number may be
    for (size_t at = 0; at < all.size() && is_sound; at += kSeenNumbers) {
      SeenNumbers numbers{};
      std::copy_n(all.begin() + static_cast<int64_t>(at), kSeenNumbers, numbers.begin());
      sights.push_back(SightOf(numbers));
      is_sound = numbers[0] >= next && numbers[0] < rows && NumbersOf(sights.back()) == numbers;
      next = numbers[0] + 1;
    }
  }
  if (is_sound) return sights;
  throw Error(Code::kCheckpoint, fmt::format("{}: \"{}\", {}, are no counts of {} rows that rise",
                                             saved.prefix, name, shape->Text(), rows));
}

}  // namespace tpuest
