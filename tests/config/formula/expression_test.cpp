#include "config/formula/expression.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace tpuest::config {
namespace {

const Parameters kParameters = {{"filters", {int64_t{64}}},
                                {"alpha", {0.35}},
                                {"name", {std::string("conv2")}},
                                {"first", {true}},
                                {"stages", {Literals{{int64_t{3}}, {int64_t{4}}, {int64_t{6}}}}}};

// The value as text, or the fault with the bytes that it refers to.
std::string Answer(std::string_view formula) {
  try {
    return TextOf(Evaluate(formula, kParameters));
  } catch (const FormulaError& error) {
    return fmt::format("{} '{}' {}", error.message, formula.substr(error.at, error.width),
                       error.hint);
  }
}

TEST_CASE("formulas follow Python") {
  CHECK(Answer("4 * filters") == "256");
  CHECK(Answer("2 + 3 * 4 ** 2 // 5 % 4 - -1") == "4");
  CHECK(Answer("-7 // 2") == "-4");
  CHECK(Answer("-7 % 3") == "2");
  CHECK(Answer("7 / 2") == "3.5");
  CHECK(Answer("6 / 2") == "3.0");
  CHECK(Answer("2 ** -1") == "0.5");
  CHECK(Answer("-2 ** 2") == "-4");
  CHECK(Answer("int(2.9) + round(2.5) + floor(-0.5) + ceil(0.1) + abs(-3)") == "7");
  CHECK(Answer("max(1, 2.5, 2) + min([4, 3])") == "5.5");
  CHECK(Answer("name + '_bn' + str(1)") == "conv2_bn1");
  CHECK(Answer("stages[1] + stages[-1] + len(stages) + sum(stages)") == "26");
  CHECK(Answer("[1, 2] + [name]") == "[1, 2, conv2]");
  CHECK(Answer("2 if first else 1") == "2");
  CHECK(Answer("1 if not first else 2 if filters < 10 else 3") == "3");
  CHECK(Answer("first and filters == 64 and alpha < 1 or false") == "true");
  CHECK(Answer("4 in stages and 5 not in stages and 'nv' in name") == "true");
  CHECK(Answer("none") == "none");
  CHECK(Answer("true != false") == "true");
  CHECK(Answer("1 < 2 < 3 and not 3 > 2 > 2") == "true");
  CHECK(Answer("6 & 3 | 8 ^ 1") == "11");
  CHECK(Answer("name[:4] + name[-1]") == "conv2");
  CHECK(Answer("stages[1:] + stages[::-1]") == "[4, 6, 6, 4, 3]");
  CHECK(Answer("(1, 2) + (3,)") == "[1, 2, 3]");
}

TEST_CASE("a part is evaluated only if Python evaluates it") {
  CHECK(Answer("0 if alpha < 1 else 1 // 0") == "0");
  CHECK(Answer("false and 1 // 0 == 0") == "false");
  CHECK(Answer("true or 1 // 0 == 0") == "true");
  CHECK(Answer("1 if true else fitlers") ==
        "unknown parameter 'fitlers' 'fitlers' did you mean 'filters'?");
}

TEST_CASE("make_divisible gives the channels of MobileNet") {
  // With alpha 0.35: 11.2 -> 16, because 8 would be below 90 %; 5.6 -> 8, 33.6 -> 32, 56 -> 56.
  CHECK(Answer("make_divisible(32 * alpha)") == "16");
  CHECK(Answer("make_divisible(16 * alpha)") == "8");
  CHECK(Answer("make_divisible(96 * alpha)") == "32");
  CHECK(Answer("make_divisible(160 * alpha)") == "56");
  CHECK(Answer("make_divisible(10, 3)") == "9");
}

TEST_CASE("an invalid formula is refused at the place of the error") {
  CHECK(Answer("2 *") == "a value is missing at the end '' ");
  CHECK(Answer("2 x") == "unexpected 'x' in the formula 'x' ");
  CHECK(Answer("2x") == "unexpected 'x' after a number 'x' write * to multiply");
  CHECK(Answer("filters = 3") == "unexpected '=' in the formula '=' write == to compare");
  CHECK(Answer("max(1, b=2)") == "max takes only positional arguments 'max' ");
  CHECK(Answer("stages[0, 1]") == "a list takes one index '[' ");
  CHECK(Answer("stages[::0]") == "the stride of a slice must not be 0 '[' ");
  CHECK(Answer("lambda a: a").starts_with("'lambda' is not allowed in a formula"));
  CHECK(Answer("2 / class").starts_with("unknown parameter 'class'"));
  CHECK(Answer("2 $ 3") == "unexpected '$' in the formula '$' ");
  CHECK(Answer("fitlers + 1") == "unknown parameter 'fitlers' 'fitlers' did you mean 'filters'?");
  CHECK(Answer("(1 + 2") == "expected ')' before the end '' ");
  CHECK(Answer("1 if true") == "expected 'else' before the end '' ");
  CHECK(Answer("name * 2") == "'*' does not take a text and an integer '*' ");
  CHECK(Answer("1 // 0") == "division by 0 '//' ");
  CHECK(Answer("stages[3]") == "item 3 is out of range in a list of 3 '[' ");
  CHECK(Answer("9223372036854775807 + 1") == "the result is no integer of 64 bits '+' ");
  CHECK(Answer("make_divisble(3)") ==
        "unknown function 'make_divisble' 'make_divisble' did you mean 'make_divisible'?");
  CHECK(Answer("len(1, 2)") == "len does not take 2 values 'len' ");
  CHECK(Answer("'abc") == "the closing quote is missing ''' ");
  CHECK(Answer(std::string(100, '(')).starts_with("nested too deeply"));
  CHECK(Answer(std::string(5000, '1')).starts_with("a formula has at most 4096 bytes"));
}

}  // namespace
}  // namespace tpuest::config
