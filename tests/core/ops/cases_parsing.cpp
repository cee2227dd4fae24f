// Ops from bytes to values.

#include "core/io/examples/example.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

// x float [2], n int64 [], s string []; the second example lacks n and s.
Tensor TwoExamples() {
  ExampleWriter writer;
  writer.Floats("x", std::vector<float>{1.5F, -2});
  writer.Int("n", 7);
  writer.Bytes("s", "one");
  writer.Int("unread", 1);
  const std::string first = writer.Finish();
  writer.Floats("x", std::vector<float>{3, 4});
  return Tensor::Strings({2}, {first, writer.Finish()});
}

std::vector<Tensor> TheirValues() {
  return {Longs({2}, {7, -1}), Tensor::Strings({2}, {"one", "none"}),
          Floats({2, 2}, {1.5F, -2, 3, 4})};
}

Built Parse(const In& in) {
  return {ops::ParseExample(in[0], {{"n", DType::kInt64, {}, Tensor::Scalar<int64_t>(-1)},
                                    {"s", DType::kString, {}, Tensor::Strings({}, {"none"})},
                                    {"x", DType::kFloat, {2}, {}}}),
          {}};
}

// As above, by the op of older graphs, whose keys are scalars.
Built ParseV1(Graph& graph, const In& in) {
  const auto text = [&](const std::string& key) {
    return graph.Constant(Tensor::Strings({}, {key}));
  };
  const Value none = graph.Constant(Tensor(DType::kString, {0}), "names");
  Node* const node =
      graph.AddNode("ParseExample",
                    {in[0], none, text("n"), text("s"), text("x"), graph.Scalar<int64_t>(-1),
                     text("none"), graph.Constant(Tensor(DType::kFloat, {0}))},
                    {{"Nsparse", int64_t{0}},
                     {"Ndense", int64_t{3}},
                     {"sparse_types", std::vector<DType>()},
                     {"Tdense", std::vector<DType>{DType::kInt64, DType::kString, DType::kFloat}},
                     {"dense_shapes", std::vector<Shape>{{}, {}, {2}}}});
  return {{node->output(0), node->output(1), node->output(2)}, {}};
}

// Of a tensor of the shape of `expected`.
OpCase Scatters(std::string claim, Tensor indices, Tensor values, Tensor other, Tensor expected) {
  const Shape shape = expected.shape();
  return {.op = "SparseToDense",
          .claim = std::move(claim),
          .inputs = {std::move(indices), std::move(values), std::move(other)},
          .build =
              [shape](Graph& graph, const In& in) {
                const Tensor dims = Longs({shape.rank()}, shape.dims()).Cast(in[0].dtype());
                return Built{{ops::SparseToDense(in[0], graph.Constant(dims), in[1], in[2])}, {}};
              },
          .expected = {std::move(expected)}};
}

OpCase Decodes(std::string claim, const BuildFn& build, std::vector<Tensor> expected) {
  return {.op = "DecodeRaw",
          .claim = std::move(claim),
          .inputs = {Tensor::Strings(
              {2}, {std::string("\x01\x02\x03\x04", 4), std::string("\xff\x00\x10\x00", 4)})},
          .build = build,
          .expected = std::move(expected)};
}

}  // namespace

std::vector<OpCase> ParsingCases() {
  return {
      {.op = "ParseExampleV2",
       .inputs = {TwoExamples()},
       .build = [](Graph&, const In& in) { return Parse(in); },
       .expected = TheirValues()},
      {.op = "ParseExample",
       .inputs = {TwoExamples()},
       .build = ParseV1,
       .expected = TheirValues()},
      Scatters("of lists", Longs({3, 2}, {0, 0, 0, 1, 2, 0}), Tensor::Strings({3}, {"a", "b", "c"}),
               Tensor::Strings({}, {"-"}), Tensor::Strings({3, 2}, {"a", "b", "-", "-", "c", "-"})),
      Scatters("of a vector, one value everywhere", Ints({2}, {1, 3}), Floats({}, {2.5F}),
               Floats({}, {-1}), Floats({4}, {-1, 2.5F, -1, 2.5F})),
      Scatters("without values", Longs({0, 2}, {}), Longs({0}, {}), Longs({}, {-1}),
               Longs({1, 2}, {-1, -1})),
      Decodes(
          "bytes",
          [](Graph&, const In& in) {
            return Built{{ops::Reshape(ops::DecodeRaw(in[0], DType::kInt8), Shape({2, 2, 2}))}, {}};
          },
          {Tensor::Of<int8_t>({2, 2, 2}, {1, 2, 3, 4, -1, 0, 16, 0})}),
      Decodes("little endian, counted behind a Cast",
              [](Graph&, const In& in) {
                const Value numbers = ops::DecodeRaw(in[0], DType::kInt16);
                return Built{{ops::Reshape(ops::Cast(numbers, DType::kInt32), Shape({2, 2}))}, {}};
              },
              {Ints({2, 2}, {0x0201, 0x0403, 0x00ff, 0x0010})}),
      Decodes("big endian",
              [](Graph&, const In& in) {
                const Value numbers = ops::DecodeRaw(in[0], DType::kInt32, false);
                return Built{{ops::Reshape(numbers, Shape({2, 1}))}, {}};
              },
              {Ints({2, 1}, {0x01020304, static_cast<int32_t>(0xff001000)})}),
  };
}

}  // namespace tpuest
