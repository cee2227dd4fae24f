#include "data/sources/clicks.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "core/base/process/files.h"
#include "core/base/random.h"
#include "data/draws.h"

namespace tpuest::data {
namespace {

constexpr uint64_t kClicksName = 0x636c69636b730001ULL;   // "clicks": random numbers of a line
constexpr uint64_t kEffectsName = 0x636c69636b730002ULL;  // effect of a value on clicks
constexpr uint64_t kNamesName = 0x636c69636b730003ULL;    // name of a value

// The number of values per category.
constexpr std::array<int64_t, kClickThings> kThings = {
    1000, 500,  9000, 4000, 200, 12,   6000, 400,  3,  5000, 3000, 9000, 2500,
    25,   4000, 7000, 10,   900, 1200, 4,    8000, 15, 14,   4000, 80,   3000};

struct Click {
  std::array<int64_t, kClickNumbers> numbers{};
  std::array<int64_t, kClickThings> things{};  // number of each category's value; -1: unknown
  bool clicked = false;
};

// From -1 to 1.
float EffectOf(int kind, int64_t thing) {
  const auto word =
      Philox({0, kEffectsName}, static_cast<uint64_t>(kind), static_cast<uint64_t>(thing))[0];
  return 2 * UniformFloat(word) - 1;
}

// Values with small numbers occur more often. A score adds the effects of integers and values, and
// noise; two categories also interact, which no sum of effects expresses.
Click DrawClick(uint64_t seed, int64_t index) {
  constexpr float kUnknownNumber = 0.1F;
  constexpr float kUnknownThing = 0.03F;
  constexpr float kOfNumbers = 0.6F;
  constexpr float kOfThings = 0.35F;
  constexpr float kOfPairs = 0.5F;
  constexpr float kThreshold = 1.2F;
  Draws draws({seed, kClicksName}, static_cast<uint64_t>(index));
  Click click;
  float score = 0;
  for (int i = 0; i < kClickNumbers; ++i) {
    const bool is_known = draws.Uniform() >= kUnknownNumber;
    const float u = draws.Uniform();
    const auto most = static_cast<float>(10 * (i + 1));
    click.numbers[static_cast<size_t>(i)] =
        is_known ? static_cast<int64_t>(most * u * u * u) : int64_t{-1};
    if (is_known) score += kOfNumbers * (i % 2 == 0 ? u - 0.5F : 0.5F - u);
  }
  for (int kind = 0; kind < kClickThings; ++kind) {
    const auto at = static_cast<size_t>(kind);
    const bool is_known = draws.Uniform() >= kUnknownThing;
    const float u = draws.Uniform();
    const auto thing = static_cast<int64_t>(static_cast<float>(kThings[at]) * u * u * u);
    click.things[at] = is_known ? thing : int64_t{-1};
    if (is_known) score += kOfThings * EffectOf(kind, thing);
    if (!is_known || kind % 2 == 0 || click.things[at - 1] < 0) continue;
    score += kOfPairs * EffectOf(kind, thing) * EffectOf(kind - 1, click.things[at - 1]);
  }
  const float chance = draws.Uniform() + draws.Uniform() - 1;
  click.clicked = score + chance > kThreshold;
  return click;
}

}  // namespace

void AppendClick(uint64_t seed, int64_t index, std::string& log) {
  const Click click = DrawClick(seed, index);
  auto out = std::back_inserter(log);
  log += click.clicked ? '1' : '0';
  for (const int64_t number : click.numbers) {
    log += '\t';
    if (number >= 0) fmt::format_to(out, "{}", number);
  }
  for (int kind = 0; kind < kClickThings; ++kind) {
    log += '\t';
    const int64_t thing = click.things[static_cast<size_t>(kind)];
    if (thing < 0) continue;
    fmt::format_to(
        out, "{:08x}",
        Philox({0, kNamesName}, static_cast<uint64_t>(kind), static_cast<uint64_t>(thing))[0]);
  }
  log += '\n';
}

int64_t WriteClickLog(const ClickLog& log) {
  constexpr size_t kPiece = size_t{1} << 20;
  AtomicFile file(log.path, /*fsync=*/false);
  std::string piece;
  int64_t clicks = 0;
  for (int64_t index = 0; index < log.count; ++index) {
    const size_t begin = piece.size();
    AppendClick(log.seed, index, piece);
    clicks += piece[begin] == '1' ? 1 : 0;
    if (piece.size() < kPiece) continue;
    file.Append(piece);
    piece.clear();
  }
  file.Append(piece);
  file.Commit();
  return clicks;
}

}  // namespace tpuest::data
