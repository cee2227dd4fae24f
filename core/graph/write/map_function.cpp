#include "core/graph/write/map_function.h"

#include <algorithm>

#include "core/io/protos.h"

namespace tpuest {
namespace {

// The op of tf.image.resize's method.
std::string_view ResizeOpOf(std::string_view interpolation) {
  if (interpolation == "nearest") return "ResizeNearestNeighbor";
  if (interpolation == "bicubic") return "ResizeBicubic";
  if (interpolation == "area") return "ResizeArea";
  return "ResizeBilinear";
}

void WriteDecoding(const Node& node, pb::FunctionDef& function) {
  const Shape& image = node.Attr<std::vector<Shape>>("output_shapes").at(0);
  const DType result = node.output_dtype(0);
  const auto add = [&](const NodeText& text) { WriteNode(text, *function.add_node_def()); };
  const auto constant = [&](const std::string& name, const Tensor& value) {
    add({.op = "Const", .name = name, .attrs = {{"dtype", value.dtype()}, {"value", value}}});
  };
  add({.op = "DecodeImage",
       .name = "decode_image",
       .inputs = {"bytes"},
       .attrs = {
           {"channels", image.dim(2)}, {"dtype", DType::kUint8}, {"expand_animations", false}}});
  constant("axis", Tensor::Scalar<int32_t>(0));
  add({.op = "ExpandDims",
       .name = "batch_of_one",
       .inputs = {"decode_image:image:0", "axis:output:0"},
       .attrs = {{"T", DType::kUint8}, {"Tdim", DType::kInt32}}});
  const std::vector<int32_t> size = {static_cast<int32_t>(image.dim(0)),
                                     static_cast<int32_t>(image.dim(1))};
  constant("size", Tensor::Of<int32_t>({2}, size));
  NodeText resize{.op = ResizeOpOf(node.Attr<std::string>("_interpolation")),
                  .name = "resize",
                  .inputs = {"batch_of_one:output:0", "size:output:0"},
                  .attrs = {{"T", DType::kUint8}, {"align_corners", false}}};
  if (resize.op != "ResizeArea") resize.attrs.emplace_back("half_pixel_centers", true);
  add(resize);
  add({.op = "Squeeze",
       .name = "image",
       .inputs = {"resize:resized_images:0"},
       .attrs = {{"T", result}, {"squeeze_dims", std::vector<int64_t>{0}}}});
}

}  // namespace

void WriteMapFunction(const Node& node, pb::GraphDef& def) {
  if (node.type() != "MapDefun") return;
  const std::string& name = node.Attr<FunctionRef>("f").name;
  const auto& written = def.library().function();
  const bool is_there = std::any_of(
      written.begin(), written.end(),
      [&](const pb::FunctionDef& function) { return function.signature().name() == name; });
  if (is_there) return;
  pb::FunctionDef& function = *def.mutable_library()->add_function();
  pb::OpDef& signature = *function.mutable_signature();
  signature.set_name(name);
  pb::OpDef::ArgDef& bytes = *signature.add_input_arg();
  bytes.set_name("bytes");
  bytes.set_type(TypeOf(DType::kString));
  pb::OpDef::ArgDef& result = *signature.add_output_arg();
  result.set_name("result");
  result.set_type(TypeOf(node.output_dtype(0)));
  WriteDecoding(node, function);
  (*function.mutable_ret())["result"] = "image:output:0";
}

}  // namespace tpuest
