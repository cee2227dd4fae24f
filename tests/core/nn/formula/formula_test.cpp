#include "core/nn/formula/formula.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/base/process/files.h"
#include "core/graph/gradient.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

// x [2, 3] = 1..6, y [2, 1] = 10, 20, n int32 [2] = 7, -3, ok bool [2], words [2].
struct Fixture {
  Session session;
  FormulaNames names;

  Fixture() {
    Graph& graph = session.graph();
    names.values = {{"x", session.Const({2, 3}, {1, 2, 3, 4, 5, 6})},
                    {"y", session.Const({2, 1}, {10, 20})},
                    {"n", session.Ints({2}, {7, -3})},
                    {"d", graph.Constant(Tensor::Of<double>({2}, {0.5, 2}))},
                    {"ok", graph.Constant(Tensor::Of<bool>({2}, {true, false}))},
                    {"words", graph.Constant(Tensor::Strings({2}, {"abc", "de"}))}};
    names.lists = {{"all", {names.values.at("x"), names.values.at("y")}}};
    names.groups = {{"features", {{"odd name", names.values.at("y")}}}};
  }

  Value Build(const std::string& text) {
    return BuildFormula(session.graph(), {text, {"job.yaml", 3, 10}}, names);
  }
  std::vector<float> Gives(const std::string& text) { return session.Floats(Build(text)); }
  std::string Type(const std::string& text) {
    const Value value = Build(text);
    return fmt::format("{} {}", NameOf(value.dtype()), value.shape().Text());
  }
  // The column of the fault, its message, and its hint.
  std::string Says(const std::string& text) {
    try {
      (void)Build(text);
    } catch (const Error& error) {
      const Fault& fault = error.faults().front();
      return fmt::format("{}: {} ({})", fault.place.column - 10, fault.message, fault.hint);
    }
    return "nothing was thrown";
  }
};

using Floats = std::vector<float>;

TEST_CASE("operators bind as Python's and broadcast as NumPy's") {
  Fixture f;
  CHECK(f.Gives("x + y") == Floats{11, 12, 13, 24, 25, 26});
  CHECK(f.Gives("-x ** 2 + 2 * x") == Floats{1, 0, -3, -8, -15, -24});
  CHECK(f.Gives("2 ** 3 * x[0]") == Floats{8, 16, 24});
  CHECK(f.Gives("n // 2") == Floats{3, -2});
  CHECK(f.Gives("n % 4") == Floats{3, 1});
  CHECK(f.Gives("x[0] / 2 - 1") == Floats{-0.5, 0, 0.5});
  CHECK(f.Gives("where(x > 2 and x <= 5, x, 0)") == Floats{0, 0, 3, 4, 5, 0});
  CHECK(f.Gives("cast((x > 2) & (x <= 5) | (x == 1), float32)") == Floats{1, 0, 1, 1, 1, 0});
  CHECK(f.Gives("cast(2 < x <= 4, float32)") == Floats{0, 0, 1, 1, 0, 0});
  CHECK(f.Gives("cast(not ok, int32)") == Floats{0, 1});
  CHECK(f.Gives("cast(n in [7, 8], int32)") == Floats{1, 0});
  CHECK(f.Gives("cast(n not in [7, 8], int32)") == Floats{0, 1});
  CHECK(f.Gives("cast(words == 'abc', int32)") == Floats{1, 0});
  CHECK(f.Gives("x[0] if true else y") == Floats{1, 2, 3});
  CHECK(f.Gives("n if ok else -n") == Floats{7, 3});
  CHECK(std::isnan(f.Gives("where(ok, nan, [1.0, 2.0])")[0]));
}

TEST_CASE("numbers take the type of the tensor beside them") {
  Fixture f;
  CHECK(f.Type("x * 2") == "float32 [2,3]");
  CHECK(f.Type("d * 2") == "float64 [2]");
  CHECK(f.Type("n * 2") == "int32 [2]");
  CHECK(f.Type("n / 2") == "float64 [2]");
  CHECK(f.Type("n > 2") == "bool [2]");
  CHECK(f.Type("1.5") == "float32 []");
  CHECK(f.Type("[1, 2]") == "int32 [2]");
  CHECK(f.Type("3000000000") == "int64 []");
  CHECK(f.Type("exp(1)") == "float32 []");
  CHECK(f.Type("[[1, 2.5], [3, 4]]") == "float32 [2,2]");
  CHECK(f.Type("argmax(x, -1)") == "int64 [2]");
  CHECK(f.Type("tf.argmax(x, axis=1, output_type=tf.int32)") == "int32 [2]");
}

TEST_CASE("an index is NumPy's") {
  Fixture f;
  CHECK(f.Gives("x[1]") == Floats{4, 5, 6});
  CHECK(f.Gives("x[:, 0]") == Floats{1, 4});
  CHECK(f.Gives("x[-1, 1:]") == Floats{5, 6});
  CHECK(f.Gives("x[:, ::-1]") == Floats{3, 2, 1, 6, 5, 4});
  CHECK(f.Gives("x[..., 2]") == Floats{3, 6});
  CHECK(f.Type("x[:, None, :]") == "float32 [2,1,3]");
  CHECK(f.Type("x[:1]") == "float32 [1,3]");
  CHECK(f.Gives("x[argmax(y[:, 0])]") == Floats{4, 5, 6});
  CHECK(f.Gives("all[1] * 2") == Floats{20, 40});
  CHECK(f.Gives("features['odd name'] + 1") == Floats{11, 21});
  CHECK(f.Gives("[3, 4, 5][-1] * x[0]") == Floats{5, 10, 15});
}

TEST_CASE("functions have TensorFlow's names and arguments") {
  Fixture f;
  CHECK(f.Gives("mean(x)") == Floats{3.5});
  CHECK(f.Gives("tf.reduce_sum(x, axis=1)") == Floats{6, 15});
  CHECK(f.Type("reduce_max(x, [0], keepdims=True)") == "float32 [1,3]");
  CHECK(f.Gives("max(x, 3)") == Floats{3, 3, 3, 4, 5, 6});
  CHECK(f.Gives("min(x)") == Floats{1});
  CHECK(f.Gives("max(1, 2.5) * x[0]") == Floats{2.5, 5, 7.5});
  CHECK(Near(f.Gives("log1p(x[0])"), {std::log(2.0), std::log(3.0), std::log(4.0)}));
  CHECK(Near(f.Gives("tf.math.reduce_std(x)"), {1.707825127659933}));
  CHECK(Near(f.Gives("reduce_logsumexp(x, 1)"), {3.4076059644443806, 6.4076059644443806}));
  CHECK(Near(f.Gives("tf.nn.softmax(x, axis=0)[:, 0]"), {0.04742587, 0.95257413}));
  CHECK(f.Gives("one_hot(n, 8)[0]") == Floats{0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(f.Gives("concat([x, y], 1)[1]") == Floats{4, 5, 6, 20});
  CHECK(f.Gives("stack([n, n + 1], axis=1)") == Floats{7, 8, -3, -2});
  CHECK(f.Gives("reshape(x, [3, -1])[2]") == Floats{5, 6});
  CHECK(f.Gives("clip_by_value(x, 2, 4)") == Floats{2, 2, 3, 4, 4, 4});
  CHECK(f.Gives("gather([10.0, 20.0, 30.0], [2, 0])") == Floats{30, 10});
  CHECK(f.Gives("top_k(x, 2)[1]") == Floats{2, 1, 2, 1});
  CHECK(Near(f.Gives("swish(x)[0]"), {0.7310585786, 1.7615941560, 2.8577223804}));
  CHECK(f.Gives("matmul(x, y, transpose_a=True)") == Floats{90, 120, 150});
  CHECK(f.Type("tf.strings.to_hash_bucket_fast(words, 10)") == "int64 [2]");
}

TEST_CASE("an op of the registry is a function by its own name") {
  Fixture f;
  CHECK(f.Gives("squared_difference(x, y)[0]") == Floats{81, 64, 49});
  CHECK(f.Gives("floor_div(n, 2)") == Floats{3, -2});
  CHECK(f.Gives("bucketize(x, boundaries=[2.0, 5.0])") == Floats{0, 1, 1, 1, 2, 2});
  CHECK(f.Type("as_string(n, width=4, fill='0')") == "string [2]");
  CHECK(f.Gives("add_n([y, y, y])") == Floats{30, 60});
  bool listed = false;
  for (const FormulaFunction& function : FormulaFunctions(f.session.graph().registry())) {
    listed = listed || (function.names == "log1p" && function.parameters == "x");
    CHECK(function.names.find("variable") == std::string::npos);
  }
  CHECK(listed);
}

TEST_CASE("the manual lists all functions") {
  Fixture f;
  std::string table = "| function | arguments |\n|---|---|\n";
  for (const FormulaFunction& function : FormulaFunctions(f.session.graph().registry())) {
    std::string names = "`";
    for (const char c : function.names) names += c == ' ' ? "`, `" : std::string(1, c);
    table += fmt::format("| {}` | `{}` |\n", names, function.parameters);
  }
  const std::string page = ReadFile(SOURCE_ROOT "/docs/formulas.md");
  const bool listed = page.find(table) != std::string::npos;
  if (!listed) MESSAGE("docs/formulas.md lacks this table:\n" << table);
  CHECK(listed);
}

TEST_CASE("texts are cut, changed and parsed by tf.strings' names") {
  Fixture f;
  CHECK(f.Gives("cast(words[0][:2] == 'ab', int32)") == Floats{1});
  CHECK(f.Gives("cast(strings.upper(words) == ['ABC', 'DE'], int32)") == Floats{1, 1});
  CHECK(f.Gives("tf.strings.length(words)") == Floats{3, 2});
  CHECK(f.Gives("cast(tf.strings.join([words, '!'], separator='-') == 'de-!', int32)") ==
        Floats{0, 1});
  CHECK(f.Gives("to_number(regex_replace(words, '[^0-9]+', '4'), int64)") == Floats{4, 4});
  CHECK(f.Gives("to_number(as_string(n), out_type=float64)") == Floats{7, -3});
  CHECK(f.Gives("cast(regex_full_match(words, '.{3}'), int32)") == Floats{1, 0});
  CHECK(f.Gives("cast(substr(words, pos=1, len=1) == 'b', int32)") == Floats{1, 0});
  CHECK(f.Gives("to_hash_bucket(words, 10) + 0 * to_hash_bucket_fast(words, 10)") == Floats{0, 6});
  CHECK(f.Type("strip(words)") == "string [2]");
  CHECK(f.Says("to_number(n)") ==
        "10: to_number: 'input' must be texts, found int32 [2] (as_string(x) makes texts)");
  CHECK(f.Says("to_number(words, bool)") == "17: to_number: texts cannot be parsed as bool ()");
  CHECK(f.Says("regex_full_match(words, words)") ==
        "24: regex_full_match: 'pattern' must be a text, found string [2] ()");
  CHECK(f.Gives("cast(lower(['É', 'É'], encoding='utf-8') == 'é', int32)") == Floats{1, 1});
  CHECK(f.Gives("to_hash_bucket_strong(['', 'a'], 1000, [1, 2])") == Floats{435, 646});
  CHECK(f.Gives(
            "cast(reduce_join([['a', 'b'], ['c', 'd']], axis=0, separator='-') == 'a-c', int32)") ==
        Floats{1, 0});
  CHECK(f.Says("unicode_split(words, 'UTF-8')")
            .starts_with(
                "0: unicode_split: the number of its results varies with each text (split("));
  CHECK(f.Says("words[0][::2]").starts_with("9: a text is sliced by stride 1"));
  CHECK(f.Says("words[0][1, 2]").starts_with("8: a text has one axis, its bytes"));
  CHECK(f.Says("words[0][n[0]]")
            .starts_with("10: a text can only be sliced at integers, found int32 []"));
  f.names.rows = true;
  CHECK(f.Gives("cast(words[:1] == 'd', int32)") == Floats{0, 1});
  CHECK(f.Gives("cast(words[-1] + '' == 'c', int32)") == Floats{1, 0});
  CHECK(f.Gives("length(words[1:])") == Floats{2, 1});
}

TEST_CASE("a part of each text is one that split returns, or empty") {
  Fixture f;
  f.names.values["s"] =
      f.session.graph().Constant(Tensor::Strings({4}, {"Doe, Mr. John", "", "a,b,,c", "  x  y\t"}));
  const auto gives = [&](const std::string& text, const std::string& expected) {
    // Joined by a character that none of them contains.
    const bool is =
        f.Gives("cast(" + text + " == [" + expected + "], int32)") == Floats{1, 1, 1, 1};
    if (!is) MESSAGE(text);
    CHECK(is);
  };
  gives("split(s, ',')[:, 0]", "'Doe', '', 'a', '  x  y\t'");
  gives("tf.strings.split(s, ',')[:, 1]", "' Mr. John', '', 'b', ''");
  gives("split(s, ',')[..., 3]", "'', '', 'c', ''");
  gives("split(s, ',')[:, -1]", "' Mr. John', '', 'c', '  x  y\t'");
  gives("split(s, ',')[:, -3]", "'', '', 'b', ''");
  gives("split(s, ',', maxsplit=1)[:, 1]", "' Mr. John', '', 'b,,c', ''");
  gives("split(s, ',', 1)[:, 2]", "'', '', '', ''");
  gives("split(s, ',', 0)[:, 0]", "'Doe, Mr. John', '', 'a,b,,c', '  x  y\t'");
  gives("split(s)[:, 0]", "'Doe,', '', 'a,b,,c', 'x'");
  gives("split(s)[:, -1]", "'John', '', 'a,b,,c', 'y'");
  gives("split(s, '. ')[:, 1]", "'John', '', '', ''");
  gives("reduce_join(split(s, ',')[:, 1:4], -1, separator='|')",
        "' Mr. John||', '||', 'b||c', '||'");
  gives("reduce_join(split(s)[:, :3], -1, separator='|')",
        "'Doe,|Mr.|John', '||', 'a,b,,c||', 'x|y|'");
  gives("reduce_join(split(s, ',', 1)[:, :3], -1, separator='|')",
        "'Doe| Mr. John|', '||', 'a|b,,c|', '  x  y\t||'");
  CHECK(f.Type("split(s, ',')[:, :3]") == "string [4,3]");
  CHECK(f.Says("split(s, ',')[:, :257]") ==
        "17: a slice of parts can end at most at 256, found 257 ()");
  const std::string way =
      "(split(x, sep)[:, 2] is one part and split(x, sep)[:, :3] the first three; missing parts "
      "are '')";
  CHECK(f.Says("split(s, ',')") == "0: the number of parts varies with each text " + way);
  CHECK(f.Says("lower(split(s))").find("the number of parts varies with each text") !=
        std::string::npos);
  CHECK(f.Says("split(s, ',')[1]") ==
        "13: the index of a part comes after the indices of the texts " + way);
  CHECK(f.Says("split(s, ',')[:, 1:]") ==
        "17: a slice of parts needs two integers and no stride " + way);
  CHECK(f.Says("split(s, maxsplit=1)[:, 0]") ==
        "18: split: 'maxsplit' needs a separator: splitting at spaces leaves no rest ()");
  CHECK(
      f.Says("split(s, 'aa')[:, -1]")
          .find("parts cannot be counted from the end if the separator 'aa' can overlap itself") !=
      std::string::npos);
  CHECK(f.Says("split(x, 3)").find("'input' must be texts, found float32 [2,3] (tf.split(value") !=
        std::string::npos);
  f.names.rows = true;
  CHECK(f.Gives("cast(split(s, ',')[1] == 'b', int32)") == Floats{0, 0, 1, 0});
  CHECK(f.Gives("cast(split(s, ',')[-1] == '', int32)") == Floats{0, 1, 0, 0});
  CHECK(f.Type("split(s, ',')[1:4]") == "string [4,3]");
  CHECK(f.Gives("size(split(s, ','))") == Floats{2, 1, 4, 1});
  CHECK(f.Gives("size(split(s, ',', 1))") == Floats{2, 1, 2, 1});
  CHECK(f.Gives("size(split(s))") == Floats{3, 0, 1, 2});
}

TEST_CASE("functions that are formulas take positional and keyword arguments") {
  Fixture f;
  CHECK(f.Gives("tf.math.count_nonzero(n > 0)") == Floats{1});
  CHECK(f.Gives("count_nonzero(x - 2, axis=1, keepdims=True, dtype=int32)") == Floats{2, 3});
  CHECK(f.Gives("tf.nn.moments(x, axes=[1])[0]") == Floats{2, 5});
  CHECK(f.Gives("xlogy(y * 0, y)") == Floats{0, 0});
  CHECK(f.Gives("reciprocal_no_nan(x - 2)") == Floats{-1, 0, 1, 0.5, 1.0F / 3, 0.25});
  CHECK(f.Gives("zero_fraction(x - 3)") == Floats{1.0F / 6});
  CHECK(f.Says("xlogy(x)") == "0: xlogy: 'y' is missing (it takes x, y)");
  CHECK(f.Says("1 + tan(words)").starts_with("4: tan: "));
  CHECK(f.Says("multiply_no_nan(x, n)").starts_with("0: multiply_no_nan: "));
  CHECK(f.Says("xlogi(x, y)").find("did you mean 'xlogy'?") != std::string::npos);
  const Value x = f.names.values.at("x");
  const Value slope =
      std::get<Value>(Gradients(f.Build("sum(asinh(x - 1))"), std::vector<Value>{x})[0]);
  CHECK(f.session.Floats(slope)[0] == 1);  // at 0
  f.names.rows = true;
  CHECK(f.Gives("count_nonzero(x - 2)") == Floats{2, 3});
}

TEST_CASE("tf.split cuts tensors, strings.split texts") {
  Fixture f;
  CHECK(f.Gives("tf.split(x, 3, axis=1)[1]") == Floats{2, 5});
  CHECK(f.Gives("tf.split(x, [1, -1], -1)[1]") == Floats{2, 3, 5, 6});
  CHECK(f.Gives("tf.split(x, 2)[1]") == Floats{4, 5, 6});
  CHECK(f.Says("tf.split(x, 2, 1)").find("3 cannot be split into 2 equal parts") !=
        std::string::npos);
  CHECK(
      f.Says("tf.split(x[:0], 1000000000)").find("0 cannot be split into 1000000000 equal parts") !=
      std::string::npos);
  CHECK(f.Says("tf.split(x, [1, 1], 1)").find("the sizes add up to 2, but the axis has size 3") !=
        std::string::npos);
  f.names.rows = true;
  CHECK(f.Gives("tf.split(x, 3)[0]") == Floats{1, 4});
}

TEST_CASE("reductions take the elements that a mask selects") {
  Fixture f;
  CHECK(f.Gives("mean(x[x > 2.5])") == Floats{4.5});
  CHECK(f.Gives("max(x[x < 5])") == Floats{4});
  CHECK(f.Gives("reduce_min(boolean_mask(n, n > 0))") == Floats{7});
  CHECK(f.Gives("sum(x[n < 0], axis=0)") == Floats{4, 5, 6});
  CHECK(f.Gives("prod(x[x > 2.5])") == Floats{360});
  CHECK(f.Gives("size(x[x > 2.5])") == Floats{4});
  CHECK(f.Gives("size(x[n > 0], int64)") == Floats{3});
  CHECK(f.Gives("cast(all((x > 2)[x > 1.5]), int32)") == Floats{0});
  CHECK(std::isnan(f.Gives("mean(x[x > 9])")[0]));
  CHECK(f.Gives("max(n[n > 9])") == Floats{-2147483648.0F});
  const Value x = f.names.values.at("x");
  const std::vector<Value> xs = {x};
  CHECK(f.session.Floats(ToDense(Gradients(f.Build("mean(x[x > 2.5])"), xs)[0])) ==
        Floats{0, 0, 0.25, 0.25, 0.25, 0.25});
  CHECK(f.Says("x[x > 1] + 1") == "9: '+' does not take elements that a mask selects ()");
  CHECK(f.Says("x[x > 1]")
            .starts_with("1: the number of elements that a mask selects varies (sum, mean, "));
  CHECK(
      f.Says("log(x[x > 1])").starts_with("5: the number of elements that a mask selects varies"));
  CHECK(f.Says("x[y > 1]").starts_with("4: a mask of [2,1] does not fit a tensor of [2,3]"));
  CHECK(f.Says("sum(x[x > 1], axis=1)")
            .starts_with("19: sum: x[mask] can be reduced only over axis 0"));
  CHECK(f.Says("mean(n[n > 1])").starts_with("6: mean: the mean of x[mask] needs floating-point"));
  f.names.rows = true;
  CHECK(f.Gives("sum(x[x > 1.5])") == Floats{5, 15});
  CHECK(f.Gives("mean(x[x > 1.5])") == Floats{2.5, 5});
}

TEST_CASE("a formula has a gradient") {
  Fixture f;
  const Value x = f.names.values.at("x");
  const auto slope = [&](const std::string& text) {
    const std::vector<Value> xs = {x};
    return f.session.Floats(ToDense(Gradients(f.Build(text), xs)[0]));
  };
  CHECK(slope("sum(x ** 2)") == Floats{2, 4, 6, 8, 10, 12});
  CHECK(slope("x[1, 2] * 3") == Floats{0, 0, 0, 0, 0, 3});
  CHECK(slope("sum(where(x > 2, x, 0))") == Floats{0, 0, 1, 1, 1, 1});
}

// TensorFlow 2.15.1's numbers.
TEST_CASE("products of matrices and cross entropies take any number of axes") {
  Fixture f;
  const Floats quarters = {0, 0.25F, 0.5F, 0.75F, 1, 1.25F, 1.5F, 1.75F, 2, 2.25F, 2.5F, 2.75F};
  f.names.values["a"] = f.session.Const({2, 2, 3}, quarters);
  f.names.values["b"] = f.session.Const({3, 2}, {0, 0.5F, 1, 1.5F, 2, 2.5F});
  const Floats products = {1.25F, 1.625F, 3.5F, 5, 5.75F, 8.375F, 8, 11.75F};
  CHECK(f.Gives("matmul(a, b)") == products);
  CHECK(f.Gives("matmul(a, stack([b, b]))") == products);
  CHECK(f.Gives("matmul(a, transpose(b), transpose_b=True)") == products);
  CHECK(f.Gives("matmul(transpose(a, [0, 2, 1]), b, transpose_a=True)") == products);
  CHECK(f.Gives("matmul(transpose(b), a, transpose_b=True)") ==
        Floats{1.25F, 3.5F, 1.625F, 5, 5.75F, 8, 8.375F, 11.75F});
  CHECK(f.Says("matmul(a[0, 0], b)").find("expected a matrix or a batch of matrices") !=
        std::string::npos);
  CHECK(f.Says("matmul(a, stack([b, b, b]))").find("the axes before the matrices differ") !=
        std::string::npos);
  const std::vector<double> losses = {1.369338, 1.119338, 0.869338, 1.119338};
  const std::string labels = "one_hot([[0, 1], [2, 1]], 3)";
  CHECK(Near(f.Gives("softmax_cross_entropy_with_logits(" + labels + ", a)"), losses));
  CHECK(Near(f.Gives("sparse_softmax_cross_entropy_with_logits([[0, 1], [2, 1]], a)"), losses));
  CHECK(f.Type("softmax_cross_entropy_with_logits(" + labels + ", a)") == "float32 [2,2]");
  CHECK(Near(f.Gives("softmax_cross_entropy_with_logits(" + labels + ", a, axis=1)"),
             {1.136871, 0.386871, 0, 0, 0.386871, 1.136871}));
  CHECK(Near(f.Gives("softmax_cross_entropy_with_logits([1.0, 0.0, 0.0], a[0, 0])"), {1.369338}));
  CHECK(f.Says("sparse_softmax_cross_entropy_with_logits([0, 1], a)")
            .find("the axes of logits without the last") != std::string::npos);
}

TEST_CASE("windows are plain numbers, two, or four as in tf.nn") {
  Fixture f;
  const std::string image = "reshape(range(16.0), [1, 4, 4, 1])";
  for (const char* const window : {"2, 2", "[2, 2], [2, 2]", "[1, 2, 2, 1], [1, 2, 2, 1]"}) {
    CHECK(f.Gives("avg_pool(" + image + ", " + window + ", 'VALID')") ==
          Floats{2.5F, 4.5F, 10.5F, 12.5F});
    CHECK(f.Gives("max_pool(" + image + ", " + window + ", 'SAME')") == Floats{5, 7, 13, 15});
  }
  CHECK(f.Says("avg_pool(" + image + ", 0, 2, 'VALID')").find("one positive integer") !=
        std::string::npos);
  CHECK(f.Says("avg_pool(" + image + ", 2, 2, 'FULL')").find("expected 'SAME' or 'VALID'") !=
        std::string::npos);
}

TEST_CASE("rows: a formula is about one example, whatever the batch") {
  Fixture f;
  f.names.rows = true;
  CHECK(f.Gives("sum(x)") == Floats{6, 15});
  CHECK(f.Gives("x[0]") == Floats{1, 4});
  CHECK(f.Gives("x[1:] + y") == Floats{12, 13, 25, 26});
  CHECK(f.Gives("x * cast(n, float32)") == Floats{7, 14, 21, -12, -15, -18});
  CHECK(f.Gives("cast(n, float32) * x") == Floats{7, 14, 21, -12, -15, -18});
  CHECK(f.Gives("x - mean(x)") == Floats{-1, 0, 1, -1, 0, 1});
  CHECK(f.Gives("cast(n, float32) + [1.0, 2.0]") == Floats{8, 9, -2, -1});
  CHECK(f.Gives("stack([n, n])") == Floats{7, 7, -3, -3});
  CHECK(f.Gives("concat([x, y], 0)") == Floats{1, 2, 3, 10, 4, 5, 6, 20});
  CHECK(f.Gives("argmax(x)") == Floats{2, 2});
  CHECK(f.Type("reshape(x, [3, 1])") == "float32 [2,3,1]");
  CHECK(f.Type("one_hot(n, 4)") == "float32 [2,4]");
  CHECK(f.Says("1 + 1") == "2: this is the same for every example (it reads no column)");
  CHECK(f.Says("mean(n, 0)") == "8: mean: axis 0 is out of range for 0 axes ()");
  CHECK(f.Says("matmul(x, x)").find("expected a matrix or a batch of matrices") !=
        std::string::npos);
}

TEST_CASE("errors have their place in the formula") {
  Fixture f;
  CHECK(f.Says("x + wrods").ends_with("there is no 'wrods' (did you mean 'words'?)"));
  CHECK(f.Says("sigmod(x)") == "0: there is no function 'sigmod' (did you mean 'sigmoid'?)");
  CHECK(f.Says("x + n") ==
        "2: '+' takes tensors of one type, found float32 and int32 (cast(x, float32) converts)");
  CHECK(f.Says("n * 0.5") ==
        "2: 0.5 cannot be converted to int32 (cast(x, float32) converts the other operand)");
  CHECK(f.Says("mean(x, axs=1)") == "12: mean has no argument 'axs' (did you mean 'axis'?)");
  CHECK(f.Says("mean(x, 2)") == "8: mean: axis 2 is out of range for 2 axes ()");
  CHECK(f.Says("x > 1 & x < 3").starts_with("6: '&' takes bool values"));
  CHECK(f.Says("x and ok")
            .starts_with("2: 'and' takes bool values, found float32 [2,3] and bool [2]"));
  CHECK(f.Says("x[0.5]") == "2: an index takes an integer, found a number ()");
  CHECK(f.Says("cast(x, flaot32)") == "8: there is no 'flaot32' (did you mean 'float32'?)");
  CHECK(f.Says("features").starts_with("0: 'features' is several tensors"));
  CHECK(f.Says("features['odd']") == "9: there is no 'odd' in features (did you mean 'odd name'?)");
  CHECK(f.Says("x +").starts_with("3: a value is missing at the end"));
  CHECK(f.Says("sigmoid").ends_with("(the function is sigmoid(...))"));
  CHECK(f.Says("x[0] + [1, 2]").starts_with("5: "));
  CHECK(f.Says("float(x)") == "0: float takes a Python number (cast(x, float32) converts tensors)");
  CHECK(f.Says("all") == "0: this is a list of several tensors (x[0] picks one)");
  CHECK(f.Says("lambda q: q").starts_with("0: 'lambda' is not allowed in a formula"));
}

}  // namespace
}  // namespace tpuest::nn
