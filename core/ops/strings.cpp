#include "core/ops/strings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>

#include "core/kernels/fingerprint.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value AsString(Value x, const AsStringOptions& options, std::string_view name) {
  return x.graph().Add("AsString", {x},
                       {{"precision", int64_t{options.precision}},
                        {"scientific", options.scientific},
                        {"shortest", options.shortest},
                        {"width", int64_t{options.width}},
                        {"fill", std::string(options.fill)}},
                       name);
}

Value StringToHashBucketFast(Value x, int64_t num_buckets, std::string_view name) {
  return x.graph().Add("StringToHashBucketFast", {x}, {{"num_buckets", num_buckets}}, name);
}

Value StringToHashBucket(Value x, int64_t num_buckets, std::string_view name) {
  return x.graph().Add("StringToHashBucket", {x}, {{"num_buckets", num_buckets}}, name);
}

Value StringToHashBucketStrong(Value x, int64_t num_buckets, const std::vector<int64_t>& key,
                               std::string_view name) {
  return x.graph().Add("StringToHashBucketStrong", {x},
                       {{"num_buckets", num_buckets}, {"key", key}}, name);
}

namespace {

void AsStringShape(ShapeContext& context) {
  const Node& node = context.node();
  const bool scientific = node.Attr<bool>("scientific");
  const bool shortest = node.Attr<bool>("shortest");
  if (scientific && shortest) context.Fail("scientific and shortest exclude each other");
  const DType dtype = node.input(0).dtype();
  const bool whole = !IsFloating(dtype);
  if (whole && (scientific || shortest)) {
    context.Fail(fmt::format("{} has no scientific or shortest form", NameOf(dtype)));
  }
  if (whole && node.Attr<int64_t>("precision") > -1) {
    context.Fail(fmt::format("precision is {}, but {} has none", node.Attr<int64_t>("precision"),
                             NameOf(dtype)));
  }
  FirstInputShape(context);
}

// The printf formats for each fill. They are constants, so that no string of a graph becomes part
// of a format.
struct PrintFormats {
  char fill;  // 0: none
  const char* whole;
  const char* fixed;
  const char* scientific;
  const char* shortest;
};
constexpr PrintFormats kPrintFormats[] = {
    {'\0', "%*" PRId64, "%*.*f", "%*.*e", "%*.*g"},
    {' ', "% *" PRId64, "% *.*f", "% *.*e", "% *.*g"},
    {'+', "%+*" PRId64, "%+*.*f", "%+*.*e", "%+*.*g"},
    {'-', "%-*" PRId64, "%-*.*f", "%-*.*e", "%-*.*g"},
    {'0', "%0*" PRId64, "%0*.*f", "%0*.*e", "%0*.*g"},
    {'#', "%#*" PRId64, "%#*.*f", "%#*.*e", "%#*.*g"},
};

// Prints numbers as the attributes of AsString request.
class Printer {
 public:
  explicit Printer(const Node& node)
      : width_(static_cast<int>(std::max<int64_t>(node.Attr<int64_t>("width"), 0))),
        precision_(static_cast<int>(std::max<int64_t>(node.Attr<int64_t>("precision"), -1))) {
    const char fill = *node.Attr<std::string>("fill").c_str();
    const DType dtype = node.input(0).dtype();
    // TensorFlow prints unsigned numbers by %u, which ignores the flags for a sign or a space.
    const bool is_unsigned = dtype == DType::kUint8 || dtype == DType::kUint16;
    const char used = is_unsigned && (fill == '+' || fill == ' ') ? '\0' : fill;
    const auto* const formats = std::find_if(std::begin(kPrintFormats), std::end(kPrintFormats),
                                             [&](const PrintFormats& f) { return f.fill == used; });
    Check(formats != std::end(kPrintFormats), "AsString cannot fill with '{}'", fill);
    whole_ = formats->whole;
    real_ = formats->fixed;
    if (node.Attr<bool>("shortest")) real_ = formats->shortest;
    if (node.Attr<bool>("scientific")) real_ = formats->scientific;
  }

  // A negative precision means the default precision.
  [[nodiscard]] std::string operator()(double value) const {
    return Printed([&](char* to, size_t size) {
      return std::snprintf(to, size, real_, width_, precision_, value);
    });
  }
  [[nodiscard]] std::string operator()(int64_t value) const {
    return Printed(
        [&](char* to, size_t size) { return std::snprintf(to, size, whole_, width_, value); });
  }

 private:
  template <class Print>
  static std::string Printed(Print print) {
    std::string text(static_cast<size_t>(print(nullptr, 0)), '\0');
    print(text.data(), text.size() + 1);
    return text;
  }

  int width_;
  int precision_;
  const char* whole_ = nullptr;
  const char* real_ = nullptr;
};

void PlanAsString(PlanContext& context) {
  const DType dtype = context.InputDType(0);
  const Printer print(context.node());
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  const bool known = DispatchDType(dtype, [&]<class T>() {
    context.Run([=](const Task& task) {
      for (int64_t i = 0; i < n; ++i) {
        const T value = task.At<T>(x)[i];
        std::string text;
        if constexpr (std::is_same_v<T, bool>) {
          text = value ? "true" : "false";
        } else if constexpr (std::is_integral_v<T>) {
          text = print(ConvertTo<int64_t>(value));
        } else {
          text = print(ConvertTo<double>(value));
        }
        task.At<std::string_view>(y)[i] = task.Keep(std::move(text));
      }
    });
  });
  Check(known, "AsString of {}", NameOf(dtype));
}

// MurmurHash64A, by Austin Appleby, with the seed and the words of TensorFlow's Hash64.
uint64_t Hash64(std::string_view text) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE;
  constexpr uint64_t kFactor = 0xC6A4A7935BD1E995;
  constexpr int kShift = 47;
  constexpr size_t kWord = sizeof(uint64_t);
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  for (; text.size() >= kWord; text.remove_prefix(kWord)) {
    uint64_t word = 0;
    for (size_t i = kWord; i-- > 0;) word = word << 8 | static_cast<unsigned char>(text[i]);
    word *= kFactor;
    word ^= word >> kShift;
    hash = (hash ^ (word * kFactor)) * kFactor;
  }
  uint64_t rest = 0;
  for (size_t i = text.size(); i-- > 0;) rest = rest << 8 | static_cast<unsigned char>(text[i]);
  if (!text.empty()) hash = (hash ^ rest) * kFactor;
  hash = (hash ^ (hash >> kShift)) * kFactor;
  return hash ^ (hash >> kShift);
}

template <uint64_t (*hash)(std::string_view)>
void PlanHash(PlanContext& context) {
  const auto buckets = static_cast<uint64_t>(context.Attr<int64_t>("num_buckets"));
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t hashed = hash(task.At<std::string_view>(x)[i]);
      task.At<int64_t>(y)[i] = static_cast<int64_t>(hashed % buckets);
    }
  });
}

// SipHash-2-4, by Jean-Philippe Aumasson and Daniel J. Bernstein, with a key of two words.
class SipHash {
 public:
  SipHash(uint64_t key0, uint64_t key1)
      : state_{key0 ^ 0x736F6D6570736575, key1 ^ 0x646F72616E646F6D, key0 ^ 0x6C7967656E657261,
               key1 ^ 0x7465646279746573} {}

  uint64_t Of(std::string_view text) {
    constexpr size_t kWord = sizeof(uint64_t);
    // The highest byte of the last word is the lowest byte of the text's length.
    uint64_t last = static_cast<uint64_t>(text.size()) << 56U;
    for (; text.size() >= kWord; text.remove_prefix(kWord)) Word(Bytes(text.substr(0, kWord)));
    last |= Bytes(text);
    Word(last);
    state_[2] ^= 0xFF;
    for (int i = 0; i < 4; ++i) Round();
    return state_[0] ^ state_[1] ^ state_[2] ^ state_[3];
  }

 private:
  static uint64_t Bytes(std::string_view text) {
    uint64_t word = 0;
    for (size_t i = text.size(); i-- > 0;) word = word << 8U | static_cast<unsigned char>(text[i]);
    return word;
  }

  void Word(uint64_t word) {
    state_[3] ^= word;
    Round();
    Round();
    state_[0] ^= word;
  }

  void Round() {
    auto& [a, b, c, d] = state_;
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }

  std::array<uint64_t, 4> state_;
};

void PlanStrongHash(PlanContext& context) {
  const auto buckets = static_cast<uint64_t>(context.Attr<int64_t>("num_buckets"));
  const auto key = context.Attr<std::vector<int64_t>>("key");
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      SipHash hash(static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1]));
      const uint64_t hashed = hash.Of(task.At<std::string_view>(x)[i]);
      task.At<int64_t>(y)[i] = static_cast<int64_t>(hashed % buckets);
    }
  });
}

const OpDef kStringOps[] = {
    {.name = "AsString",
     .signature = "input: T -> output: string; T: float|double|int32|int64|bfloat16|bool|int8|"
                  "uint8|int16|uint16; precision: int <= 4096 = -1; scientific: bool = false; "
                  "shortest: bool = false; width: int <= 4096 = -1; fill: {'', ' ', '+', '-', '0', "
                  "'#'} = \"\"",
     .shape = AsStringShape,
     .grad = NoGradient,
     .cpu = PlanAsString,
     .host = true},
    {.name = "StringToHashBucketFast",
     .signature = "input: string -> output: int64; num_buckets: int >= 1",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanHash<Fingerprint64>,
     .host = true},
    {.name = "StringToHashBucket",
     .signature = "string_tensor: string -> output: int64; num_buckets: int >= 1",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanHash<Hash64>,
     .host = true},
    {.name = "StringToHashBucketStrong",
     .signature = "input: string -> output: int64; num_buckets: int >= 1; key: list(int) >= 2 <= 2",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanStrongHash,
     .host = true},
};

}  // namespace

OpFamily StringOps() { return kStringOps; }

}  // namespace tpuest::ops
