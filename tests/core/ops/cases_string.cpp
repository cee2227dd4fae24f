// Strings.

#include <limits>
#include <optional>

#include "core/ops/strings.h"
#include "core/ops/texts.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

OpCase Prints(std::string claim, Tensor x, const ops::AsStringOptions& options,
              const std::vector<std::string>& texts) {
  const Shape shape = x.shape();
  return {.op = "AsString",
          .claim = std::move(claim),
          .inputs = {std::move(x)},
          .build =
              [options](Graph&, const In& in) {
                return Built{{ops::AsString(in[0], options)}, {}};
              },
          .expected = {Tensor::Strings(shape, texts)},
          .in_double = false,
          .in_bfloat16 = false};
}

const Tensor& Words() {
  static const Tensor words = Tensor::Strings({2, 2}, {"", "a", "straße", "日本 🙂"});
  return words;
}
const Tensor& Numbers() {
  static const Tensor numbers = Longs({2, 2}, {0, -5, int64_t{1} << 40, 7});
  return numbers;
}

// The expected values are those of tf.sparse.cross_hashed.
OpCase Crosses(std::string claim, std::vector<Tensor> inputs, int64_t buckets, uint64_t key,
               Tensor expected) {
  std::vector<int> batch;
  for (size_t i = 0; i < inputs.size(); ++i) batch.push_back(static_cast<int>(i));
  return {.op = "SparseCross",
          .claim = std::move(claim),
          .inputs = std::move(inputs),
          .build =
              [=](Graph&, const In& in) {
                return Built{{ops::SparseCrossHashed(in, buckets, key)}, {}};
              },
          .expected = {std::move(expected)},
          .batch = batch};
}

std::vector<OpCase> CrossCases() {
  const uint64_t key = ops::kCrossHashKey;
  const Tensor one = Tensor::Strings({2}, {"x", "straße"});
  return {
      Crosses("of words and numbers", {Words(), Numbers()}, 1000, key,
              Longs({2, 4}, {600, 885, 44, 385, 628, 146, 9, 871})),
      Crosses("without buckets is below 2^63 - 1", {Words(), Numbers()}, 0, key,
              Longs({2, 4}, {342200373683685600, 3923258894332052078, 8486321983560064237,
                             955795738575781578, 5977142365900294628, 4558651360008452146,
                             6699312743865372009, 8113657309980815064})),
      Crosses("of three, under another key", {Numbers(), one, Words()}, 17, 99,
              Longs({2, 4}, {12, 3, 4, 5, 1, 4, 8, 6})),
      Crosses("of one", {Words()}, 1000, key, Longs({2, 2}, {937, 915, 166, 226})),
      Crosses("under a key above 2^63", {one, one}, int64_t{1} << 62, 0x8000000000000001,
              Longs({2, 1}, {2784810188659989479, 310508969990835401})),
  };
}

std::vector<OpCase> PrintCases() {
  return {
      Prints("six digits", Floats({2}, {1.5F, -2.25F}), {}, {"1.500000", "-2.250000"}),
      Prints("precision", Floats({2}, {1.5F, 1234567}), {.precision = 2}, {"1.50", "1234567.00"}),
      Prints("scientific", Floats({2}, {1.5F, 1e-9F}), {.precision = 3, .scientific = true},
             {"1.500e+00", "1.000e-09"}),
      Prints("shortest", Floats({2}, {1.5F, 1e20F}), {.shortest = true}, {"1.5", "1e+20"}),
      Prints("integers, filled", Ints({2}, {7, -12}), {.width = 5, .fill = "0"},
             {"00007", "-0012"}),
      Prints("signed integers after a plus", Ints({2}, {7, -12}), {.width = 4, .fill = "+"},
             {"  +7", " -12"}),
      Prints("unsigned integers without a plus", Tensor::Of<uint8_t>({2}, {7, 255}),
             {.width = 4, .fill = "+"}, {"   7", " 255"}),
      Prints("unsigned integers without a space", Tensor::Of<uint16_t>({1}, {65535}), {.fill = " "},
             {"65535"}),
      Prints("left-justified", Floats({1}, {-2.5F}), {.precision = 1, .width = 7, .fill = "-"},
             {"-2.5   "}),
      Prints("truth", Bools({2}, {1, 0}), {}, {"true", "false"}),
      {.op = "StringToHashBucketFast",
       .inputs = {Tensor::Strings({7},
                                  {"", "a", "hello", "categorical", "straße", "日本 🙂", "é"})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::StringToHashBucketFast(in[0], 1000)}, {}};
           },
       .expected = {Longs({7}, {263, 939, 296, 59, 784, 647, 25})}},
  };
}

using TextFn = std::function<Value(Value)>;

// The expected values are those of tf.strings.
OpCase Changes(std::string op, std::string claim, const std::vector<std::string>& texts,
               const TextFn& change, Tensor expected) {
  return {.op = std::move(op),
          .claim = std::move(claim),
          .inputs = {Tensor::Strings({static_cast<int64_t>(texts.size())}, texts)},
          .build =
              [change](Graph&, const In& in) {
                return Built{{change(in[0])}, {}};
              },
          .expected = {std::move(expected)},
          .in_double = false,
          .in_bfloat16 = false};
}
OpCase Changes(std::string op, std::string claim, const std::vector<std::string>& texts,
               const TextFn& change, const std::vector<std::string>& expected) {
  return Changes(std::move(op), std::move(claim), texts, change,
                 Tensor::Strings({static_cast<int64_t>(texts.size())}, expected));
}

TextFn Named(const std::string& op, const std::string& encoding = "") {
  return [=](Value x) {
    return x.graph().Add(op, {x}, encoding.empty() ? Attrs{} : Attrs{{"encoding", encoding}});
  };
}
TextFn StrongHash(int64_t buckets, std::vector<int64_t> key) {
  return [=](Value x) {
    return x.graph().Add("StringToHashBucketStrong", {x}, {{"num_buckets", buckets}, {"key", key}});
  };
}
TextFn Part(int position, int length, const std::string& unit = "BYTE") {
  return [=](Value x) {
    const auto number = [&](int n) { return x.graph().Constant(Ints({}, {n})); };
    return ops::Substr(x, number(position), number(length), unit);
  };
}
TextFn Cut(std::optional<int64_t> begin, std::optional<int64_t> end) {
  return
      [=](Value x) { return ops::TextSlice(x, begin ? &*begin : nullptr, end ? &*end : nullptr); };
}
TextFn Reads(DType dtype) {
  return [=](Value x) { return ops::StringToNumber(x, dtype); };
}

std::vector<OpCase> TextCases() {
  const std::vector<std::string> several = {"", "abc", "straße", "日本 🙂"};
  const std::string odd =
      "\xff\xfe"  // these begin characters that never end
      "a\x80"     // and this continues one
      "b";
  const float inf = std::numeric_limits<float>::infinity();
  return {
      Changes(
          "StringLength", "in bytes", several, [](Value x) { return ops::StringLength(x); },
          Ints({4}, {0, 3, 7, 11})),
      Changes(
          "StringLength", "in characters", several,
          [](Value x) { return ops::StringLength(x, "UTF8_CHAR"); }, Ints({4}, {0, 3, 6, 4})),
      Changes("StringLower", "only of ASCII", {"ABCÄß"}, Named("StringLower"), {"abcÄß"}),
      Changes("StringUpper", "only of ASCII", {"abcäß"}, Named("StringUpper"), {"ABCäß"}),
      Changes("StringLower", "of UTF-8", {"ÄSS ΑΣ 日", "\xFF"}, Named("StringLower", "utf-8"),
              {"äss ας 日", "\uFFFD"}),
      Changes("StringUpper", "of UTF-8", {"äß σς 日", ""}, Named("StringUpper", "utf-8"),
              {"ÄSS ΣΣ 日", ""}),
      Changes("StringStrip", "", {" \t\r\n\v\fa b \n", "\u00a0x ", "  "}, Named("StringStrip"),
              {"a b", "\u00a0x", ""}),
      Changes("Substr", "from the end", {"hello", "ab"}, Part(-2, 1), {"l", "a"}),
      Changes("Substr", "behind the end", {"hello"}, Part(5, 1), {""}),
      Changes("Substr", "of a length below 0 is the rest", {"hello"}, Part(1, -3), {"ello"}),
      Changes("Substr", "of characters", {"日本 🙂", "straße"}, Part(1, 2, "UTF8_CHAR"),
              {"本 ", "tr"}),
      Changes("Substr", "of characters from the end", {"日本 🙂", "straße"},
              Part(-2, 1, "UTF8_CHAR"), {" ", "ß"}),
      Changes("Substr", "of what is no UTF-8", {odd}, Part(1, 2, "UTF8_CHAR"),
              {"\xfe"
               "a\x80"}),
      Changes("Substr", "of characters and a length below 0 is empty", {"日本"},
              Part(0, -1, "UTF8_CHAR"), {""}),
      {.op = "Substr",
       .claim = "at places of their own",
       .inputs = {Tensor::Strings({2}, {"hello", "wo"}), Longs({2}, {1, 2}), Longs({2}, {2, 0})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::Substr(in[0], in[1], in[2])}, {}};
           },
       .expected = {Tensor::Strings({2}, {"el", ""})}},
      Changes("Substr", "[:3] as Python cuts", several, Cut(std::nullopt, 3),
              {"", "abc", "str", "日"}),
      Changes("Substr", "[1:-1] as Python cuts", {"", "a", "abcd"}, Cut(1, -1), {"", "", "bc"}),
      Changes("Substr", "[-2:] as Python cuts", {"", "a", "abcd"}, Cut(-2, std::nullopt),
              {"", "a", "cd"}),
      Changes("Substr", "[5:2] as Python cuts", {"abcdefgh"}, Cut(5, 2), {""}),
      {.op = "StringJoin",
       .inputs = {Tensor::Strings({2}, {"a", ""}), Tensor::Strings({}, {"-"}),
                  Tensor::Strings({2}, {"c", "d"})},
       .build =
           [](Graph&, const In& in) {
             return Built{{ops::StringJoin(in), ops::StringJoin({in[0], in[2]}, ", ")}, {}};
           },
       .expected = {Tensor::Strings({2}, {"a-c", "-d"}), Tensor::Strings({2}, {"a, c", ", d"})}},
      Changes(
          "StringToNumber", "real",
          {"1.5", "-2e3", " 7\n", "+.5", "5.", "inf", "-INF", "0x10", "-0X1f", "1e39", "-1e-50"},
          Reads(DType::kFloat), Floats({11}, {1.5, -2000, 7, 0.5, 5, inf, -inf, 16, -31, inf, 0})),
      Changes("StringToNumber", "whole", {"7 ", " -7", "007", "-0"}, Reads(DType::kInt64),
              Longs({4}, {7, -7, 7, 0})),
      Changes("StaticRegexReplace", "all", {"aabb", "xyz"},
              [](Value x) { return ops::RegexReplace(x, "(a+)(b)", R"(\2<\1>\0\\)"); },
              {R"(b<aa>aab\b)", "xyz"}),
      Changes("StaticRegexReplace", "the first", {"aabb", ""},
              [](Value x) { return ops::RegexReplace(x, "a", "z", false); }, {"zabb", ""}),
      Changes("StaticRegexReplace", "of nothing", {"abc", "日本"},
              [](Value x) { return ops::RegexReplace(x, "", "-"); }, {"-a-b-c-", "-日-本-"}),
      Changes("StaticRegexReplace", "of characters", {"aäb", "a\xff"},
              [](Value x) { return ops::RegexReplace(x, "[^a-z]", "?"); }, {"a?b", "a\xff"}),
      Changes(
          "StaticRegexFullMatch", "", {"abc", "abcd", "ab\n"},
          [](Value x) { return ops::RegexFullMatch(x, "(?i)AB.?"); }, Bools({3}, {1, 0, 0})),
      Changes(
          "StringToHashBucket", "", {"", "a", "hello", "categorical", "straße", "日本 🙂", "é"},
          [](Value x) { return ops::StringToHashBucket(x, 1000); },
          Longs({7}, {899, 868, 938, 563, 614, 114, 665})),
      Changes("StringToHashBucketStrong", "",
              {"", "a", "hello", "straße", "日本 🙂", "01234567", "0123456789abcdef"},
              StrongHash(1000, {1, 2}), Longs({7}, {435, 646, 622, 944, 792, 331, 844})),
      Changes("StringToHashBucketStrong", "under a key of 0", {"", "a", "01234567"},
              StrongHash(1000, {0, 0}), Longs({3}, {367, 905, 114})),
      Changes("StringToHashBucketStrong", "in many buckets", {"", "a"},
              StrongHash(int64_t{1} << 62, {std::numeric_limits<int64_t>::max(), 5}),
              Longs({2}, {1630956474918423399, 2314214638633222033})),
  };
}

}  // namespace

std::vector<OpCase> StringCases() {
  std::vector<OpCase> all = PrintCases();
  for (OpCase& op_case : TextCases()) all.push_back(std::move(op_case));
  for (OpCase& op_case : CrossCases()) all.push_back(std::move(op_case));
  return all;
}

}  // namespace tpuest
