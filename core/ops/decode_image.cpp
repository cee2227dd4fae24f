#include "core/ops/decode_image.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/backend/plan.h"
#include "core/graph/gradient.h"
#include "core/io/images/image.h"
#include "core/kernels/resize.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

constexpr const char* kHow = "_interpolation";  // TensorFlow ignores attributes that begin with '_'

constexpr std::pair<std::string_view, ResizeMethod> kMethods[] = {
    {"bilinear", ResizeMethod::kBilinear},
    {"nearest", ResizeMethod::kNearest},
    {"bicubic", ResizeMethod::kBicubic},
    {"area", ResizeMethod::kArea}};

const ResizeMethod* MethodNamed(std::string_view name) {
  for (const auto& [known, method] : kMethods) {
    if (known == name) return &method;
  }
  return nullptr;
}

// Height, width and channels of each image; an empty shape if the node has none.
Shape ImageOf(const Node& node) {
  const auto& shapes = node.Attr<std::vector<Shape>>("output_shapes");
  return shapes.size() == 1 ? shapes[0] : Shape();
}

void DecodeImagesShape(ShapeContext& c) {
  const Node& node = c.node();
  if (node.inputs().size() != 1 || node.outputs() != 1) {
    c.Fail("maps over several tensors; only the decoding of images is supported");
  }
  NeedRank(c, c.Input(0), 1, "the files [N]");
  const auto& how = node.Attr<std::string>(kHow);
  if (MethodNamed(how) == nullptr) {
    c.Fail(fmt::format("resizes by '{}', expected bilinear, nearest, bicubic or area", how));
  }
  const Shape image = ImageOf(node);
  const bool fits = image.rank() == 3 && image.fully_known() && image.dim(0) >= 1 &&
                    image.dim(1) >= 1 && (image.dim(2) == 1 || image.dim(2) == 3) &&
                    image.elements() <= kMostImageBytes;
  if (!fits) {
    c.Fail(fmt::format("the images are {}, expected [height, width, 1 or 3]", image.Text()));
  }
  const DType dtype = node.output_dtype(0);
  if (dtype != (how == "nearest" ? DType::kUint8 : DType::kFloat)) {
    c.Fail(fmt::format("gives {}, but resizing by '{}' does not", NameOf(dtype), how));
  }
  const int64_t images = c.Input(0).known_rank() ? c.Input(0).dim(0) : kUnknownDim;
  c.Output(0, {images, image.dim(0), image.dim(1), image.dim(2)});
}

// Decodes one file and resizes it to the requested size.
void DecodeInto(std::string_view file, const Shape& size, ResizeMethod method, DType dtype,
                void* out) {
  DecodedImage image;
  DecodeImage(file, static_cast<int>(size.dim(2)), image);
  const Resize resize(
      {.method = method,
       .grid = method == ResizeMethod::kArea ? ResizeGrid::kLegacy : ResizeGrid::kHalfPixel,
       .in_height = image.height,
       .in_width = image.width,
       .out_height = size.dim(0),
       .out_width = size.dim(1),
       .channels = size.dim(2)});
  std::vector<float> scratch(resize.scratch_bytes() / sizeof(float));
  const bool ran = resize.Run(DType::kUint8, image.pixels.data(), out, scratch.data());
  Check(ran && (dtype == DType::kUint8) == (method == ResizeMethod::kNearest),
        "images are resized to {}", NameOf(dtype));
}

void PlanDecodeImages(PlanContext& context) {
  const Node* const node = &context.node();
  const ResizeMethod method = *MethodNamed(context.Attr<std::string>(kHow));
  const Shape size = ImageOf(*node);
  const DType dtype = context.OutputDType(0);
  const size_t bytes = static_cast<size_t>(size.elements()) * SizeOf(dtype);
  const Buffer files = context.Input(0);
  const Buffer out = context.Output(0);
  context.Run([=, count = context.InputShape(0).elements()](const Task& task) {
    for (int64_t i = 0; i < count; ++i) {
      try {
        DecodeInto(task.At<std::string_view>(files)[i], size, method, dtype,
                   task.At<char>(out) + static_cast<size_t>(i) * bytes);
      } catch (const Error& error) {
        throw Error(error.code(),
                    fmt::format("'{}': file {} of the batch: {}", node->name(), i, error.message()))
            .At(node->origin());
      }
    }
  });
}

const OpDef kDecodeImageOps[] = {
    {.name = "MapDefun",
     .signature = "arguments: list(Targuments), captured_inputs: list(Tcaptured) -> "
                  "output: list(output_types); Targuments: list(type); Tcaptured: list(type) = []; "
                  "output_types: list(type); output_shapes: list(shape); f: func; "
                  "max_intra_op_parallelism: int = 1; _interpolation: string",
     .shape = DecodeImagesShape,
     .grad = NoGradient,
     .cpu = PlanDecodeImages,
     .host = true},
};

}  // namespace

Value DecodeImages(Value bytes, const DecodeImagesOptions& options, std::string_view name) {
  const DType dtype = options.interpolation == "nearest" ? DType::kUint8 : DType::kFloat;
  const std::string function = fmt::format("decode_image_{}x{}x{}_{}", options.height,
                                           options.width, options.channels, options.interpolation);
  return bytes.graph().Add(
      "MapDefun", {bytes},
      {{"Targuments", std::vector<DType>{DType::kString}},
       {"Tcaptured", std::vector<DType>{}},
       {"output_types", std::vector<DType>{dtype}},
       {"output_shapes",
        std::vector<Shape>{Shape{options.height, options.width, options.channels}}},
       {"f", FunctionRef{function}},
       {kHow, options.interpolation}},
      name);
}

OpFamily DecodeImageOps() { return kDecodeImageOps; }

}  // namespace tpuest::ops
