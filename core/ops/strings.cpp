#include "core/ops/strings.h"

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
  if (node.Attr<std::string>("fill").size() > 1) context.Fail("fill is one character");
  if (node.Attr<bool>("scientific") && node.Attr<bool>("shortest")) {
    context.Fail("scientific and shortest exclude each other");
  }
  FirstInputShape(context);
}

// printf's "%" + fill + width + precision, ready for a conversion letter.
std::string FormatOf(const Node& node, bool real) {
  std::string format = "%" + node.Attr<std::string>("fill");
  const int64_t width = node.Attr<int64_t>("width");
  const int64_t precision = node.Attr<int64_t>("precision");
  if (width > -1) format += std::to_string(width);
  if (real && precision > -1) format += fmt::format(".{}", precision);
  return format;
}

char LetterOf(const Node& node) {
  if (node.Attr<bool>("shortest")) return 'g';
  return node.Attr<bool>("scientific") ? 'e' : 'f';
}

template <class T>
std::string Print(const std::string& format, T value) {
  char text[512];
  const int size = std::snprintf(text, sizeof(text), format.c_str(), value);
  Check(size >= 0 && static_cast<size_t>(size) < sizeof(text), "{} is too wide", format);
  return {text, static_cast<size_t>(size)};
}

void PlanAsString(PlanContext& context) {
  const DType dtype = context.InputDType(0);
  const Node& node = context.node();
  const bool real = IsFloating(dtype);
  const std::string format =
      FormatOf(node, real) + (real ? std::string(1, LetterOf(node)) : PRId64);
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
        } else if (real) {
          text = Print(format, ConvertTo<double>(value));
        } else {
          text = Print(format, ConvertTo<int64_t>(value));
        }
        task.At<std::string_view>(y)[i] = task.Keep(std::move(text));
      }
    });
  });
  Check(known, "AsString of {}", NameOf(dtype));
}

void HashShape(ShapeContext& context) {
  if (context.node().Attr<int64_t>("num_buckets") < 1) context.Fail("num_buckets is below 1");
  FirstInputShape(context);
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

// SipHash-2-4, by Jean-Philippe Aumasson and Daniel J. Bernstein, under a key of two words.
class SipHash {
 public:
  SipHash(uint64_t key0, uint64_t key1)
      : state_{key0 ^ 0x736F6D6570736575, key1 ^ 0x646F72616E646F6D, key0 ^ 0x6C7967656E657261,
               key1 ^ 0x7465646279746573} {}

  uint64_t Of(std::string_view text) {
    constexpr size_t kWord = sizeof(uint64_t);
    // The last word ends with the length of the text, of which its lowest byte counts.
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

void StrongHashShape(ShapeContext& context) {
  const size_t words = context.node().Attr<std::vector<int64_t>>("key").size();
  if (words != 2) context.Fail(fmt::format("key is of two integers, found {}", words));
  HashShape(context);
}

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
                  "uint8|int16|uint16; precision: int = -1; scientific: bool = false; "
                  "shortest: bool = false; width: int = -1; fill: string = \"\"",
     .shape = AsStringShape,
     .grad = NoGradient,
     .cpu = PlanAsString,
     .host = true},
    {.name = "StringToHashBucketFast",
     .signature = "input: string -> output: int64; num_buckets: int",
     .shape = HashShape,
     .grad = NoGradient,
     .cpu = PlanHash<Fingerprint64>,
     .host = true},
    {.name = "StringToHashBucket",
     .signature = "string_tensor: string -> output: int64; num_buckets: int",
     .shape = HashShape,
     .grad = NoGradient,
     .cpu = PlanHash<Hash64>,
     .host = true},
    {.name = "StringToHashBucketStrong",
     .signature = "input: string -> output: int64; num_buckets: int; key: list(int)",
     .shape = StrongHashShape,
     .grad = NoGradient,
     .cpu = PlanStrongHash,
     .host = true},
};

}  // namespace

OpFamily StringOps() { return kStringOps; }

}  // namespace tpuest::ops
