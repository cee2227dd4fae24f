#include "cli/many/sweep/draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "cli/many/sweep/trials.h"
#include "cli/shell/cut_message.h"
#include "config/scalars.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/text.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kForms =
    "uniform(a,b), loguniform(a,b), randint(a,b), choice(a,b,...) or normal(mean,stddev)";
// All whole numbers up to this one are doubles, 2^53.
constexpr double kMostWhole = 9007199254740992.0;

[[noreturn]] void Refuse(std::string_view text, const std::string& why) {
  throw Error(Code::kUsage, CutMessage(fmt::format("--random {}: {}", text, why)),
              fmt::format("KEY={}; in a shell quote it, or write KEY=uniform:a,b", kForms));
}

bool IsWhole(double value) { return std::floor(value) == value && std::abs(value) <= kMostWhole; }

void CheckNumbers(const Distribution& d, std::string_view text) {
  const double a = d.numbers[0];
  const double b = d.numbers[1];
  if (!std::isfinite(a) || !std::isfinite(b)) Refuse(text, "its numbers must be finite");
  if (d.name == "normal") {
    if (b < 0) Refuse(text, fmt::format("the standard deviation {} is negative", NumberText(b)));
    // No number that is drawn is ten deviations away.
    if (!std::isfinite(std::abs(a) + 10 * b)) Refuse(text, "its numbers are too large");
    return;
  }
  if (!std::isfinite(b - a)) Refuse(text, "its numbers are too far apart");
  if (a > b) Refuse(text, fmt::format("{} is larger than {}", d.values[0], d.values[1]));
  if (d.name == "loguniform" && a <= 0) {
    Refuse(text, fmt::format("{} has no logarithm", d.values[0]));
  }
  if (d.name == "randint" && !(IsWhole(a) && IsWhole(b))) {
    Refuse(text, "randint takes integers");
  }
}

// A number in [0, 1) from 53 bits of two words.
double Unit(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 21) ^ (low >> 11)) * 0x1p-53;
}

int64_t Below(double unit, double count) {
  return static_cast<int64_t>(std::min(std::floor(unit * count), count - 1));
}

// A standard normal number after Box and Muller 1958; 1 - u is never zero.
double StandardNormal(double u, double v) {
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

std::string SixDigits(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  return NumberText(config::ParseNumber(text).value_or(value));
}

}  // namespace

Distribution ParseDistribution(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t open = equals == std::string_view::npos ? equals : text.find_first_of("(:", equals);
  const bool colon = open != std::string_view::npos && text[open] == ':';
  if (equals == 0 || open == std::string_view::npos || (!colon && !text.ends_with(')'))) {
    Refuse(text, "expected KEY=DISTRIBUTION(...)");
  }
  Distribution d;
  d.key = text.substr(0, equals);
  d.name = text.substr(equals + 1, open - equals - 1);
  d.values = SplitValues(text.substr(open + 1, text.size() - open - (colon ? 1 : 2)));
  const std::vector<std::string> names = {"uniform", "loguniform", "randint", "normal", "choice"};
  if (std::find(names.begin(), names.end(), d.name) == names.end()) {
    const auto near = Nearest(d.name, names);
    Refuse(text, fmt::format("unknown distribution '{}'", d.name) +
                     (near ? fmt::format("; did you mean {}?", *near) : ""));
  }
  if (d.name == "choice") {
    if (d.values.empty()) Refuse(text, "choice needs at least one value");
    return d;
  }
  if (d.values.size() != 2) {
    Refuse(text, fmt::format("{} takes two numbers, found {}", d.name, d.values.size()));
  }
  for (const std::string& value : d.values) {
    const std::optional<double> number = config::ParseNumber(value);
    if (!number) Refuse(text, fmt::format("'{}' is not a number", value));
    d.numbers.push_back(*number);
  }
  CheckNumbers(d, text);
  return d;
}

std::string DrawValue(const Distribution& d, uint64_t seed, int64_t trial) {
  const std::array<uint32_t, 4> words =
      Philox({seed, Fingerprint64(d.key)}, static_cast<uint64_t>(trial), 0);
  const double u = Unit(words[0], words[1]);
  const double v = Unit(words[2], words[3]);
  if (d.name == "choice") {
    return d.values[static_cast<size_t>(Below(u, static_cast<double>(d.values.size())))];
  }
  const double a = d.numbers[0];
  const double b = d.numbers[1];
  if (d.name == "randint") {
    return fmt::format("{}", static_cast<int64_t>(a) + Below(u, b - a + 1));
  }
  if (d.name == "normal") return SixDigits(a + b * StandardNormal(u, v));
  if (d.name == "uniform") return SixDigits(a + (b - a) * u);
  return SixDigits(std::exp(std::log(a) + (std::log(b) - std::log(a)) * u));
}

}  // namespace tpuest::cli
