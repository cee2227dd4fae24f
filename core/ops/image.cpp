#include "core/ops/image.h"

#include <memory>

#include "core/graph/flops.h"
#include "core/graph/gradient.h"
#include "core/kernels/projective.h"
#include "core/kernels/resize.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/image_hlo.h"
#include "core/ops/shape_rules.h"
#include "core/ops/windows.h"

namespace tpuest::ops {
namespace {

Value AddResize(std::string_view op, Value x, Value size, const ResizeOptions& options,
                std::string_view name) {
  return x.graph().Add(op, {x, size},
                       {{"align_corners", options.align_corners},
                        {"half_pixel_centers", options.half_pixel_centers}},
                       name);
}

Value SizeOfImage(Graph& graph, int64_t height, int64_t width) {
  return Int32s(graph, {height, width}, "size");
}

// ---- shapes -------------------------------------------------------------------------------------

constexpr const char* kImage = "the image [N, H, W, C]";

// Height and width from input `i`.
Shape SizeFrom(const ShapeContext& c, int i) {
  NeedRank(c, c.Input(i), 1, "the size [height, width]");
  Shape size = ShapeFromValue(c.node().input(i));
  if (!size.known_rank()) return {kUnknownDim, kUnknownDim};
  if (size.rank() != 2) c.Fail(fmt::format("the size is {}, expected two numbers", size.Text()));
  for (const int64_t side : size.dims()) {
    if (side == 0 || side > INT32_MAX) {
      c.Fail(fmt::format("the size is {}, expected positive numbers", size.Text()));
    }
  }
  return size;
}

void CheckGrid(const ShapeContext& c) {
  const Node& node = c.node();
  if (node.HasAttr("half_pixel_centers") && node.Attr<bool>("half_pixel_centers") &&
      node.Attr<bool>("align_corners")) {
    c.Fail("align_corners and half_pixel_centers exclude each other");
  }
}

// The images of input 0, resized to the size in input `size`.
void ResizedShape(ShapeContext& c, int size) {
  NeedRank(c, c.Input(0), 4, kImage);
  const Shape& image = c.Input(0);
  const Shape sides = SizeFrom(c, size);
  const bool known = image.known_rank();
  for (int axis = 1; known && axis <= 2; ++axis) {
    if (image.dim(axis) == 0) c.Fail(fmt::format("the image {} has no pixels", image.Text()));
  }
  c.Output(0, {known ? image.dim(0) : kUnknownDim, sides.dim(0), sides.dim(1),
               known ? image.dim(3) : kUnknownDim});
}

void ResizeShapes(ShapeContext& c) {
  CheckGrid(c);
  ResizedShape(c, 1);
}

// For the inputs (grads, original image).
void ResizeGradShapes(ShapeContext& c) {
  CheckGrid(c);
  NeedRank(c, c.Input(0), 4, "the gradient [N, H', W', C]");
  NeedRank(c, c.Input(1), 4, kImage);
  c.Output(0, c.Input(1));
}

template <class Value>
const Value* FindNamed(std::string_view name, const std::pair<std::string_view, Value>* first,
                       const std::pair<std::string_view, Value>* last) {
  for (; first != last; ++first) {
    if (first->first == name) return &first->second;
  }
  return nullptr;
}

constexpr std::pair<std::string_view, FillMode> kFillModes[] = {{"REFLECT", FillMode::kReflect},
                                                                {"WRAP", FillMode::kWrap},
                                                                {"CONSTANT", FillMode::kConstant},
                                                                {"NEAREST", FillMode::kNearest}};

void CheckProjective(const ShapeContext& c, const Shape& images, const Shape& transforms) {
  NeedRank(c, images, 4, kImage);
  NeedRank(c, transforms, 2, "the transforms [N, 8]");
  if (!transforms.known_rank() || !images.known_rank()) return;
  const int64_t rows = transforms.dim(0);
  const bool fits =
      rows == kUnknownDim || images.dim(0) == kUnknownDim || rows == 1 || rows == images.dim(0);
  if (!fits || (transforms.dim(1) != kUnknownDim && transforms.dim(1) != 8)) {
    c.Fail(fmt::format("the transforms are {}, expected eight numbers per image of {}",
                       transforms.Text(), images.Text()));
  }
}

void ProjectiveShapes(ShapeContext& c) {
  CheckProjective(c, c.Input(0), c.Input(1));
  ResizedShape(c, 2);
}

// For the inputs (original image, transforms, grads).
void ProjectiveGradShapes(ShapeContext& c) {
  CheckProjective(c, c.Input(0), c.Input(1));
  NeedRank(c, c.Input(2), 4, "the gradient [N, H', W', C]");
  c.Output(0, c.Input(0));
}

// ---- gradients ----------------------------------------------------------------------------------

Attrs GridOf(const Node& node) {
  Attrs attrs = {{"align_corners", node.attrs().at("align_corners")}};
  if (node.HasAttr("half_pixel_centers")) {
    attrs["half_pixel_centers"] = node.attrs().at("half_pixel_centers");
  }
  return attrs;
}

Value SidesOf(Value x) {
  if (x.shape().known_rank() && x.shape().dim(1) != kUnknownDim &&
      x.shape().dim(2) != kUnknownDim) {
    return SizeOfImage(x.graph(), x.shape().dim(1), x.shape().dim(2));
  }
  return StridedSlice(ShapeOf(x), {.begin = {1}, .end = {3}});
}

void NearestGradient(GradContext& c) {
  if (!IsFloating(c.input(0).dtype())) return;
  c.SetDx(0, c.graph().Add("ResizeNearestNeighborGrad", {c.Dy(), SidesOf(c.input(0))},
                           GridOf(c.node())));
}

void NearestGradGradient(GradContext& c) {
  c.SetDx(0,
          c.graph().Add("ResizeNearestNeighbor", {c.Dy(), SidesOf(c.input(0))}, GridOf(c.node())));
}

// TensorFlow's gradient of cubic resizing has no bfloat16, so it goes through float.
void ResizeGradient(GradContext& c, std::string_view op) {
  const Value x = c.input(0);
  if (!IsFloating(x.dtype())) return;
  const Value wide = x.dtype() == DType::kBfloat16 ? Cast(x, DType::kFloat) : x;
  c.SetDx(0, Cast(c.graph().Add(op, {c.Dy(), wide}, GridOf(c.node())), x.dtype()));
}
void BilinearGradient(GradContext& c) { ResizeGradient(c, "ResizeBilinearGrad"); }
void BicubicGradient(GradContext& c) { ResizeGradient(c, "ResizeBicubicGrad"); }
void AreaGradient(GradContext& c) { ResizeGradient(c, "_ResizeAreaGrad"); }

// dx is linear in dy.
void ResizeGradGradient(GradContext& c, std::string_view op) {
  c.SetDx(0, c.graph().Add(op, {c.Dy(), SidesOf(c.input(0))}, GridOf(c.node())));
}
void BilinearGradGradient(GradContext& c) { ResizeGradGradient(c, "ResizeBilinear"); }
void BicubicGradGradient(GradContext& c) { ResizeGradGradient(c, "ResizeBicubic"); }

// TensorFlow transforms dy by the inverse transform, which is an approximation; this is the exact
// derivative.
void ProjectiveGradient(GradContext& c) {
  if (!IsFloating(c.input(0).dtype())) return;
  c.SetDx(0, c.graph().Add("_ImageProjectiveTransformGrad", {c.input(0), c.input(1), c.Dy()},
                           {{"interpolation", c.node().attrs().at("interpolation")},
                            {"fill_mode", c.node().attrs().at("fill_mode")}}));
}

// ---- rows ---------------------------------------------------------------------------------------

Rows ResizeGradRows(RowContext& c) { return AllCut(c, 0, 1); }

// A single transform applies to all images.
Rows ProjectiveRows(RowContext& c) {
  const bool one = c.Input(1).dim(0) == 1 && !c.IsCut(1);
  if (one) return c.IsCut(0) ? Rows::kEach : Rows::kWhole;
  return AllCut(c, 0, 1);
}
Rows ProjectiveGradRows(RowContext& c) {
  const bool one = c.Input(1).dim(0) == 1 && !c.IsCut(1);
  if (one) return c.IsCut(0) && c.IsCut(2) ? Rows::kEach : Rows::kWhole;
  return AllCut(c, 0, 2);
}

// ---- plans --------------------------------------------------------------------------------------

size_t BytesOfImage(const Shape& images, DType dtype) {
  return static_cast<size_t>(images.dim(1) * images.dim(2) * images.dim(3)) * SizeOf(dtype);
}

void PlanResize(PlanContext& context) {
  const Shape& images = context.InputShape(0);
  const auto resize =
      std::make_shared<Resize>(ResizeShapeOf(context.node(), images, context.OutputShape(0)));
  const DType dtype = context.InputDType(0);
  const size_t in = BytesOfImage(images, dtype);
  const size_t out = BytesOfImage(context.OutputShape(0), context.OutputDType(0));
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const Buffer scratch = context.Scratch(resize->scratch_bytes());
  context.Run([=, count = images.dim(0)](const Task& task) {
    for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
      (void)resize->Run(dtype, task.At<char>(x) + n * in, task.At<char>(y) + n * out,
                        task.At(scratch));
    }
  });
}

void PlanResizeGrad(PlanContext& context) {
  const Shape& images = context.OutputShape(0);
  const auto resize =
      std::make_shared<Resize>(ResizeShapeOf(context.node(), images, context.InputShape(0)));
  const DType dtype = context.OutputDType(0);
  const size_t in = BytesOfImage(context.InputShape(0), context.InputDType(0));
  const size_t out = BytesOfImage(images, dtype);
  const Buffer dy = context.Input(0);
  const Buffer dx = context.Output(0);
  context.Run([=, count = images.dim(0)](const Task& task) {
    for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
      (void)resize->RunGrad(dtype, task.At<char>(dy) + n * in, task.At<char>(dx) + n * out);
    }
  });
}

// Number of floats between the transforms of neighbouring images; 0 if all images share one.
size_t TransformStep(const PlanContext& context) {
  return context.WholeInputShape(1).dim(0) == 1 ? 0 : 8;
}

void PlanProjective(PlanContext& context) {
  const Shape& images = context.InputShape(0);
  const ProjectiveShape shape = ProjectiveShapeOf(context.node(), images, context.OutputShape(0));
  const DType dtype = context.OutputDType(0);
  const size_t in = BytesOfImage(images, dtype);
  const size_t out = BytesOfImage(context.OutputShape(0), dtype);
  const size_t step = TransformStep(context);
  const ProjectiveKernel kernel = FindProjective(dtype);
  const Buffer x = context.Input(0);
  const Buffer transforms = context.Input(1);
  const Buffer fill = context.Input(3);
  const Buffer y = context.Output(0);
  context.Run([=, count = images.dim(0)](const Task& task) {
    for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
      kernel(shape, task.At<float>(transforms) + n * step, *task.At<float>(fill),
             task.At<char>(x) + n * in, task.At<char>(y) + n * out);
    }
  });
}

void PlanProjectiveGrad(PlanContext& context) {
  const Shape& images = context.OutputShape(0);
  const ProjectiveShape shape = ProjectiveShapeOf(context.node(), images, context.InputShape(2));
  const DType dtype = context.OutputDType(0);
  const size_t in = BytesOfImage(context.InputShape(2), dtype);
  const size_t out = BytesOfImage(images, dtype);
  const size_t step = TransformStep(context);
  const ProjectiveGradKernel kernel = FindProjectiveGrad(dtype);
  const Buffer transforms = context.Input(1);
  const Buffer dy = context.Input(2);
  const Buffer dx = context.Output(0);
  context.Run([=, count = images.dim(0)](const Task& task) {
    for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
      kernel(shape, task.At<float>(transforms) + n * step, task.At<char>(dy) + n * in,
             task.At<char>(dx) + n * out);
    }
  });
}

// ---- records ------------------------------------------------------------------------------------

constexpr std::string_view kResize =
    "images: T, size: int32 -> resized_images: float; "
    "T: int8|uint8|int16|uint16|int32|int64|float|double|bfloat16; align_corners: bool = false; "
    "half_pixel_centers: bool = false";

constexpr OpDef ResizeDef(std::string_view name, std::string_view signature, GradFn grad) {
  return {.name = name,
          .signature = signature,
          .shape = ResizeShapes,
          .grad = grad,
          .cpu = PlanResize,
          .hlo = LowerResize,
          .rows = FirstInputRows,
          .flops = OutputFlops};
}

constexpr OpDef ResizeGradDef(std::string_view name, std::string_view signature, GradFn grad) {
  return {.name = name,
          .signature = signature,
          .shape = ResizeGradShapes,
          .grad = grad,
          .cpu = PlanResizeGrad,
          .hlo = LowerResizeGrad,
          .rows = ResizeGradRows,
          .flops = OutputFlops};
}

const OpDef kImageOps[] = {
    ResizeDef("ResizeNearestNeighbor",
              "images: T, size: int32 -> resized_images: T; "
              "T: int8|uint8|int16|uint16|int32|int64|float|double|bfloat16; "
              "align_corners: bool = false; half_pixel_centers: bool = false",
              NearestGradient),
    ResizeDef("ResizeBilinear", kResize, BilinearGradient),
    ResizeDef("ResizeBicubic", kResize, BicubicGradient),
    ResizeDef("ResizeArea",
              "images: T, size: int32 -> resized_images: float; "
              "T: int8|uint8|int16|uint16|int32|int64|float|double|bfloat16; "
              "align_corners: bool = false",
              AreaGradient),
    {.name = "ResizeNearestNeighborGrad",
     .signature = "grads: T, size: int32 -> output: T; T: float|double|bfloat16; "
                  "align_corners: bool = false; half_pixel_centers: bool = false",
     .shape = ResizeShapes,
     .grad = NearestGradGradient,
     .cpu = PlanResizeGrad,
     .hlo = LowerResizeGrad,
     .rows = FirstInputRows,
     .flops = OutputFlops},
    ResizeGradDef("ResizeBilinearGrad",
                  "grads: float, original_image: T -> output: T; T: float|double|bfloat16; "
                  "align_corners: bool = false; half_pixel_centers: bool = false",
                  BilinearGradGradient),
    ResizeGradDef("ResizeBicubicGrad",
                  "grads: float, original_image: T -> output: T; T: float|double; "
                  "align_corners: bool = false; half_pixel_centers: bool = false",
                  BicubicGradGradient),
    ResizeGradDef("_ResizeAreaGrad",
                  "grads: float, original_image: T -> output: T; T: float|double; "
                  "align_corners: bool = false",
                  NoSecondGradient),
    {.name = "ImageProjectiveTransformV3",
     .signature = "images: dtype, transforms: float, output_shape: int32, fill_value: float -> "
                  "transformed_images: dtype; dtype: uint8|int32|int64|float|double|bfloat16; "
                  "interpolation: {'NEAREST', 'BILINEAR'}; fill_mode: {'REFLECT', 'WRAP', "
                  "'CONSTANT', 'NEAREST'} = CONSTANT",
     .shape = ProjectiveShapes,
     .grad = ProjectiveGradient,
     .cpu = PlanProjective,
     .hlo = LowerProjective,
     .rows = ProjectiveRows,
     .flops = OutputFlops},
    {.name = "_ImageProjectiveTransformGrad",
     .signature = "original_image: dtype, transforms: float, grads: dtype -> output: dtype; "
                  "dtype: float|double|bfloat16; interpolation: {'NEAREST', 'BILINEAR'}; "
                  "fill_mode: {'REFLECT', 'WRAP', 'CONSTANT', 'NEAREST'}",
     .shape = ProjectiveGradShapes,
     .grad = NoSecondGradient,
     .cpu = PlanProjectiveGrad,
     .hlo = LowerProjectiveGrad,
     .rows = ProjectiveGradRows,
     .flops = OutputFlops},
};

}  // namespace

ResizeShape ResizeShapeOf(const Node& node, const Shape& image, const Shape& result) {
  ResizeShape shape{.in_height = image.dim(1),
                    .in_width = image.dim(2),
                    .out_height = result.dim(1),
                    .out_width = result.dim(2),
                    .channels = image.dim(3)};
  const auto is = [&](std::string_view kind) { return node.type().find(kind) != kind.npos; };
  shape.method = is("Nearest")   ? ResizeMethod::kNearest
                 : is("Bicubic") ? ResizeMethod::kBicubic
                 : is("Area")    ? ResizeMethod::kArea
                                 : ResizeMethod::kBilinear;
  const bool half = node.HasAttr("half_pixel_centers") && node.Attr<bool>("half_pixel_centers");
  shape.grid = half                               ? ResizeGrid::kHalfPixel
               : node.Attr<bool>("align_corners") ? ResizeGrid::kAlignCorners
                                                  : ResizeGrid::kLegacy;
  return shape;
}

ProjectiveShape ProjectiveShapeOf(const Node& node, const Shape& image, const Shape& result) {
  const FillMode* const mode =
      FindNamed(node.Attr<std::string>("fill_mode"), std::begin(kFillModes), std::end(kFillModes));
  return {.in_height = image.dim(1),
          .in_width = image.dim(2),
          .out_height = result.dim(1),
          .out_width = result.dim(2),
          .channels = image.dim(3),
          .fill_mode = mode == nullptr ? FillMode::kConstant : *mode,
          .bilinear = node.Attr<std::string>("interpolation") == "BILINEAR"};
}

Value ResizeNearestNeighbor(Value x, int64_t height, int64_t width, const ResizeOptions& options,
                            std::string_view name) {
  return AddResize("ResizeNearestNeighbor", x, SizeOfImage(x.graph(), height, width), options,
                   name);
}

Value ResizeBilinear(Value x, int64_t height, int64_t width, const ResizeOptions& options,
                     std::string_view name) {
  return AddResize("ResizeBilinear", x, SizeOfImage(x.graph(), height, width), options, name);
}

Value ResizeBicubic(Value x, int64_t height, int64_t width, const ResizeOptions& options,
                    std::string_view name) {
  return AddResize("ResizeBicubic", x, SizeOfImage(x.graph(), height, width), options, name);
}

Value ResizeArea(Value x, int64_t height, int64_t width, std::string_view name) {
  return x.graph().Add("ResizeArea", {x, SizeOfImage(x.graph(), height, width)}, {}, name);
}

Value ImageProjectiveTransformV3(Value images, Value transforms, int64_t height, int64_t width,
                                 const ProjectiveOptions& options, std::string_view name) {
  Graph& graph = images.graph();
  const Value fill = graph.ScalarOf(DType::kFloat, options.fill_value, "fill_value");
  return graph.Add(
      "ImageProjectiveTransformV3", {images, transforms, SizeOfImage(graph, height, width), fill},
      {{"interpolation", options.interpolation}, {"fill_mode", options.fill_mode}}, name);
}

OpFamily ImageOps() { return kImageOps; }

}  // namespace tpuest::ops
