#include "core/graph/write/summary_nodes.h"

#include <fmt/format.h>

#include "core/io/protos.h"

namespace tpuest {
namespace {

class SummaryWriter {
 public:
  SummaryWriter(NodeNames& names, pb::GraphDef& graph) : names_(names), graph_(graph) {}

  // Adds the summary of a tensor, with its tag beside it: "loss/tags" and "loss".
  void Add(std::string_view op, const std::string& tag, const std::string& tensor, DType dtype) {
    const std::string name = names_.Unique(tag);
    const std::string tags = Constant(name + "/tags", Tensor::Strings({}, {tag}));
    Node(op, name, {tags, tensor}, {{"T", dtype}});
    written_.push_back(name);
  }
  // The share of zeros, as tf.math.zero_fraction gives it.
  void AddZeroFraction(const std::string& tag, const Value& value) {
    const std::string scope = tag + "/zero_fraction";
    const std::string zero = Constant(scope + "/zero", Tensor(value.dtype(), Shape()));
    const std::string is_zero = Node("Equal", names_.Unique(scope + "/Equal"), {value.name(), zero},
                                     {{"T", value.dtype()}});
    const std::string ones = Node("Cast", names_.Unique(scope + "/Cast"), {is_zero},
                                  {{"SrcT", DType::kBool}, {"DstT", DType::kFloat}});
    std::vector<int32_t> axes;
    for (int axis = 0; axis < value.shape().rank(); ++axis) axes.push_back(axis);
    const std::string all =
        Constant(scope + "/axes", Tensor::Of<int32_t>({static_cast<int64_t>(axes.size())}, axes));
    const std::string mean = Node("Mean", names_.Unique(scope + "/Mean"), {ones, all},
                                  {{"T", DType::kFloat}, {"Tidx", DType::kInt32}});
    Add("ScalarSummary", tag, mean, DType::kFloat);
  }
  [[nodiscard]] std::vector<std::string> written() && { return std::move(written_); }

 private:
  std::string Constant(const std::string& name, const Tensor& value) {
    return Node("Const", names_.Unique(name), {}, {{"dtype", value.dtype()}, {"value", value}});
  }
  std::string Node(std::string_view op, std::string name, std::vector<std::string> inputs,
                   std::vector<std::pair<std::string, AttrValue>> attrs) {
    const NodeText node{
        .op = op, .name = std::move(name), .inputs = std::move(inputs), .attrs = std::move(attrs)};
    WriteNode(node, *graph_.add_node());
    return node.name;
  }

  NodeNames& names_;
  pb::GraphDef& graph_;
  std::vector<std::string> written_;
};

}  // namespace

std::vector<std::string> WriteSummaries(const GraphSummaries& summaries, NodeNames& names,
                                        pb::GraphDef& graph) {
  SummaryWriter writer(names, graph);
  for (const auto& [tag, value] : summaries.scalars) {
    writer.Add("ScalarSummary", tag, value.name(), value.dtype());
  }
  for (const auto& [name, value] : summaries.activations) {
    if (value.shape().known_rank())
      writer.AddZeroFraction(name + "/fraction_of_zero_values", value);
    writer.Add("HistogramSummary", name + "/activation", value.name(), value.dtype());
  }
  for (const auto& [tag, value] : summaries.histograms) {
    writer.Add("HistogramSummary", tag, value.name(), value.dtype());
  }
  return std::move(writer).written();
}

}  // namespace tpuest
