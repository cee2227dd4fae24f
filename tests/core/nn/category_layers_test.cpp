// Layers that encode words and numbers as categories, on small inputs; the numbers are Keras
// 2.15's.

#include "core/nn/layers/category_layers.h"

#include <doctest/doctest.h>

#include "core/base/process/files.h"
#include "core/ops/elementwise.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"
#include "tests/temporary_folder.h"

namespace tpuest::nn {
namespace {

using Floats = std::vector<float>;

Tensor Tags() { return Tensor::Strings({2, 3}, {"a", "zz", "b", "", "q", "a"}); }
Tensor Numbers() { return Tensor::Of<int64_t>({2, 3}, {5, 0, 9, -4, 7, 5}); }
Tensor Colors() { return Tensor::Strings({2, 1}, {"red", "x"}); }
Tensor Sizes() { return Tensor::Of<int64_t>({2, 1}, {3, 8}); }

template <class L>
Floats Of(const L& layer, const std::vector<Tensor>& inputs) {
  Session session;
  LayerContext context{.graph = session.graph()};
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(session.graph().Constant(input));
  if constexpr (requires { layer.Apply(context, values); }) {
    return session.Floats(ops::Cast(layer.Apply(context, values), DType::kFloat));
  } else {
    return session.Floats(ops::Cast(layer.Apply(context, values.front()), DType::kFloat));
  }
}

template <class L>
std::string FaultOf(const L& layer, const std::vector<Tensor>& inputs) {
  try {
    static_cast<void>(Of(layer, inputs));
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST_CASE("words are numbered by a vocabulary") {
  const std::vector<std::string> ab = {"a", "b"};
  CHECK(Of(StringLookup{.vocabulary = ab}, {Tags()}) == Floats{1, 0, 2, 0, 0, 1});
  CHECK(Of(StringLookup{.vocabulary = ab, .mask_token = ""}, {Tags()}) == Floats{2, 1, 3, 0, 1, 2});
  CHECK(Of(StringLookup{.vocabulary = ab, .mask_token = "", .num_oov_indices = 3}, {Tags()}) ==
        Floats{4, 2, 5, 0, 3, 4});
  CHECK(Of(StringLookup{.vocabulary = {"", "[UNK]", "a", "b"}, .mask_token = ""}, {Tags()}) ==
        Floats{2, 1, 3, 0, 1, 2});
}

TEST_CASE("a vocabulary in a file is the same") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/words";
  WriteFileAtomically(path, "a\nb\n");
  const auto of = [&](int64_t oov, const std::optional<std::string>& mask) {
    return Of(StringLookup{.vocabulary_file = path, .mask_token = mask, .num_oov_indices = oov},
              {Tags()});
  };
  CHECK(of(1, std::nullopt) == Floats{1, 0, 2, 0, 0, 1});
  CHECK(of(3, "") == Floats{4, 2, 5, 0, 3, 4});
  WriteFileAtomically(path, "5\n9\n");
  CHECK(Of(IntegerLookup{.vocabulary_file = path}, {Numbers()}) == Floats{1, 0, 2, 0, 0, 1});
}

TEST_CASE("numbers of words as rows") {
  const std::vector<std::string> ab = {"a", "b"};
  CHECK(Of(StringLookup{.vocabulary = {"red", "green"}, .output_mode = "one_hot"}, {Colors()}) ==
        Floats{0, 1, 0, 1, 0, 0});
  CHECK(Of(StringLookup{.vocabulary = ab, .mask_token = "", .output_mode = "multi_hot"},
           {Tags()}) == Floats{1, 1, 1, 1, 1, 0});
  CHECK(Of(StringLookup{.vocabulary = ab, .num_oov_indices = 2, .output_mode = "count"},
           {Tags()}) == Floats{1, 0, 1, 1, 0, 2, 1, 0});
  CHECK(
      Of(
          StringLookup{
              .vocabulary = ab, .output_mode = "count", .max_tokens = 5, .pad_to_max_tokens = true},
          {Tags()}) == Floats{1, 1, 1, 0, 0, 2, 1, 0, 0, 0});
  CHECK(Near(Of(StringLookup{.vocabulary = ab, .output_mode = "tf_idf", .idf_weights = {0.5, 0.25}},
                {Tags()}),
             {0.375, 0.5, 0.25, 0.75, 0.5, 0}));
  // A feature without a second axis, and, as in Keras 3, lists.
  CHECK(Of(StringLookup{.vocabulary = {"red"}, .output_mode = "count"},
           {Tensor::Strings({2}, {"x", "red"})}) == Floats{1, 0, 0, 1});
  CHECK(Of(StringLookup{.vocabulary = {"a"}, .output_mode = "one_hot"}, {Tags()}) ==
        Floats{0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1});
}

TEST_CASE("integers are numbered by a vocabulary") {
  CHECK(Of(IntegerLookup{.vocabulary = {5, 9}}, {Numbers()}) == Floats{1, 0, 2, 0, 0, 1});
  CHECK(Of(IntegerLookup{.vocabulary = {5, 9}, .mask_token = 0, .num_oov_indices = 3},
           {Numbers()}) == Floats{4, 0, 5, 3, 2, 4});
  CHECK(Of(IntegerLookup{.vocabulary = {8}, .output_mode = "one_hot"}, {Sizes()}) ==
        Floats{1, 0, 0, 1});
}

TEST_CASE("hashes, ranges and crosses") {
  CHECK(Of(Hashing{.num_bins = 7}, {Tags()}) == Floats{5, 1, 2, 6, 1, 5});
  CHECK(Of(Hashing{.num_bins = 7}, {Numbers()}) == Floats{1, 2, 3, 3, 2, 1});
  CHECK(Of(Hashing{.num_bins = 7, .mask_value = ""}, {Tags()}) == Floats{4, 5, 5, 0, 6, 4});
  CHECK(Of(Hashing{.num_bins = 7, .mask_value = 5}, {Numbers()}) == Floats{0, 2, 6, 5, 5, 0});
  CHECK(Of(Hashing{.num_bins = 3, .output_mode = "count"}, {Tags()}) == Floats{1, 2, 0, 1, 0, 2});
  CHECK(Of(Hashing{.num_bins = 7, .salt = 133}, {Tags()}) == Floats{4, 1, 5, 6, 5, 4});
  CHECK(Of(Hashing{.num_bins = 7, .mask_value = "", .salt = std::vector<int64_t>{1, -2}},
           {Tags()}) == Floats{2, 5, 3, 0, 6, 2});
  CHECK(Of(Hashing{.num_bins = 7, .salt = 5}, {Numbers()}) == Floats{2, 1, 5, 3, 4, 2});
  const Discretization ranges{.bin_boundaries = {0, 1.5, 7}};
  CHECK(Of(ranges, {Tensor::Of<float>({2, 3}, {-1, 0, 1.5, 1.49F, 7, 1e9})}) ==
        Floats{0, 1, 2, 1, 3, 3});
  CHECK(Of(ranges, {Numbers()}) == Floats{2, 1, 3, 0, 3, 2});
  CHECK(Of(HashedCrossing{.num_bins = 11}, {Colors(), Sizes()}) == Floats{7, 5});
  CHECK(Of(HashedCrossing{.num_bins = 3, .output_mode = "one_hot"}, {Sizes(), Colors()}) ==
        Floats{1, 0, 0, 0, 0, 1});
}

TEST_CASE("numbers of categories as rows") {
  const Tensor ids = Tensor::Of<int32_t>({2, 2}, {0, 3, 2, 2});
  CHECK(Of(CategoryEncoding{.num_tokens = 4}, {ids}) == Floats{1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(Of(CategoryEncoding{.num_tokens = 4, .output_mode = "one_hot"},
           {Tensor::Of<int64_t>({2, 1}, {3, 0})}) == Floats{0, 0, 0, 1, 1, 0, 0, 0});
  CHECK(Of(CategoryEncoding{.num_tokens = 4, .output_mode = "count"},
           {ids, Tensor::Of<float>({2, 2}, {0.5, 2, 1, 0.25})}) ==
        Floats{0.5, 0, 0, 2, 0, 0, 1.25, 0});
}

TEST_CASE("values that are not categories are refused") {
  CHECK(FaultOf(CategoryEncoding{.num_tokens = 3}, {Tensor::Of<int32_t>({1, 1}, {3})})
            .find("index 3") != std::string::npos);
  CHECK(FaultOf(StringLookup{.vocabulary = {"a"}, .num_oov_indices = 0}, {Tags()}).find("-1") !=
        std::string::npos);
  CHECK(FaultOf(StringLookup{.vocabulary = {"a", "a"}}, {Tags()}) ==
        "string_lookup 'string_lookup': The passed vocabulary has at least one repeated term: "
        "'a'");
  CHECK(FaultOf(StringLookup{}, {Tags()}) == "string_lookup 'string_lookup': has no vocabulary");
  CHECK(FaultOf(StringLookup{.vocabulary = {"a", "b"}, .max_tokens = 2}, {Tags()}) ==
        "string_lookup 'string_lookup': Attempted to set a vocabulary larger than the maximum "
        "vocab size. Passed vocab size is 3, max vocab size is 2.");
  CHECK(FaultOf(StringLookup{.vocabulary = {"a", ""}, .mask_token = ""}, {Tags()}) ==
        "string_lookup 'string_lookup': Found reserved mask token at unexpected location in "
        "`vocabulary`.");
  CHECK(FaultOf(StringLookup{.vocabulary = {"a"}}, {Numbers()}) ==
        "string_lookup 'string_lookup': takes strings, found int64");
  CHECK(FaultOf(IntegerLookup{.vocabulary = {1}}, {Tags()}) ==
        "integer_lookup 'integer_lookup': takes integers, found string");
  CHECK(FaultOf(StringLookup{.vocabulary = {"a"}, .output_mode = "tf_idf"}, {Tags()}) ==
        "string_lookup 'string_lookup': `idf_weights` are required for output_mode tf_idf, and not "
        "allowed otherwise");
  CHECK(FaultOf(Hashing{.num_bins = 0}, {Tags()}) ==
        "hashing 'hashing': num_bins is 0, expected at least 1");
  CHECK(FaultOf(Hashing{.num_bins = 4, .salt = std::vector<int64_t>{1}}, {Tags()}) ==
        "hashing 'hashing': The `salt` argument can only be two integers or one, got 1");
  CHECK(FaultOf(Hashing{.num_bins = 4, .mask_value = 3}, {Tags()}) ==
        "hashing 'hashing': mask_value is a number, but the input is string");
  CHECK(FaultOf(Discretization{.bin_boundaries = {2, 1}}, {Numbers()}) ==
        "discretization 'discretization': bin_boundaries are [2, 1], expected in increasing order");
  CHECK(FaultOf(HashedCrossing{.num_bins = 5}, {Tags(), Tags()})
            .starts_with("hashed_crossing 'hashed_crossing': All inputs should have shape [batch] "
                         "or [batch, 1]"));
  CHECK(FaultOf(HashedCrossing{.num_bins = 5}, {Sizes()}) ==
        "hashed_crossing 'hashed_crossing': should be called on at least two inputs, got 1");
  CHECK(FaultOf(CategoryEncoding{.num_tokens = 4, .output_mode = "one_hot"}, {Sizes(), Sizes()})
            .find("`count_weights` is not used") != std::string::npos);
}

}  // namespace
}  // namespace tpuest::nn
