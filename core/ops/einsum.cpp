// Sums of products by labels: "abc,cd->abd". One label an axis; "..." stands for the axes that have
// none, which broadcast as NumPy does. Two inputs become one product of matrices for each element
// of the labels that both inputs and the output have.

#include <algorithm>
#include <map>

#include "core/backend/hlo/lower.h"
#include "core/graph/flops.h"
#include "core/kernels/batch_product.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/matmul.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"
#include "core/tensor/elements.h"

namespace tpuest::ops {

Value Einsum(const std::vector<Value>& inputs, std::string_view equation, std::string_view name) {
  return inputs.front().graph().Add("Einsum", inputs, {{"equation", std::string(equation)}}, name);
}

namespace {

// A letter, or for an axis of the ellipsis a negative number that counts from the ellipsis' end.
using EinsumLabels = std::vector<int>;

struct EinsumEquation {
  std::vector<EinsumLabels> inputs;
  EinsumLabels output;
};

[[noreturn]] void FailEinsum(const Node& node, const std::string& message) {
  throw Error(Code::kUsage, fmt::format("Einsum '{}': {}", node.name(), message)).At(node.origin());
}

bool HasLabel(const EinsumLabels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool NamesTwice(const EinsumLabels& labels) {
  return std::any_of(labels.begin(), labels.end(), [&](int label) {
    return std::count(labels.begin(), labels.end(), label) > 1;
  });
}

// Reads one term of an equation: "ab...c" for a tensor whose ellipsis has `broadcast` axes.
EinsumLabels ReadLabels(const Node& node, std::string_view term, int broadcast) {
  EinsumLabels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (term.substr(i, 3) == "..." && term.find("...", i + 1) == std::string_view::npos) {
      for (int axis = broadcast; axis > 0; --axis) labels.push_back(-axis);
      i += 2;
    } else {
      FailEinsum(node,
                 fmt::format("'{}' is no term of labels: it takes letters and one '...'", term));
    }
  }
  return labels;
}

EinsumLabels ReadInputLabels(const Node& node, std::string_view term, int rank) {
  const auto letters = static_cast<int>(ReadLabels(node, term, 0).size());
  const bool has_ellipsis = term.find("...") != std::string_view::npos;
  if (has_ellipsis ? rank < letters : rank != letters) {
    FailEinsum(node, fmt::format("'{}' does not name the {} axes of its input", term, rank));
  }
  return ReadLabels(node, term, rank - letters);
}

EinsumEquation ReadEinsum(const Node& node) {
  const auto text = std::string_view(node.Attr<std::string>("equation"));
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) FailEinsum(node, fmt::format("'{}' has no '->'", text));
  std::string_view terms = text.substr(0, arrow);
  EinsumEquation equation;
  int broadcast = 0;
  const size_t inputs = node.inputs().size();
  if (std::count(terms.begin(), terms.end(), ',') + 1 != static_cast<long>(inputs)) {
    FailEinsum(node, fmt::format("'{}' does not have {} inputs", text, inputs));
  }
  for (size_t i = 0; i < inputs; ++i) {
    const std::string_view term = terms.substr(0, terms.find(','));
    terms.remove_prefix(std::min(terms.size(), term.size() + 1));
    equation.inputs.push_back(
        ReadInputLabels(node, term, node.input(static_cast<int>(i)).shape().rank()));
    for (const int label : equation.inputs.back()) broadcast = std::max(broadcast, -label);
  }
  equation.output = ReadLabels(node, text.substr(arrow + 2), broadcast);
  if (NamesTwice(equation.output)) {
    FailEinsum(node, fmt::format("the output of '{}' names a label twice", text));
  }
  for (const int label : equation.output) {
    if (std::none_of(equation.inputs.begin(), equation.inputs.end(),
                     [&](const EinsumLabels& input) { return HasLabel(input, label); })) {
      FailEinsum(node,
                 fmt::format("no input of '{}' has label '{}'", text, static_cast<char>(label)));
    }
  }
  return equation;
}

// The labels as a term of an equation.
std::string TermOf(const EinsumLabels& labels) {
  std::string term;
  for (const int label : labels) {
    if (label > 0) {
      term += static_cast<char>(label);
    } else if (term.find("...") == std::string::npos) {
      term += "...";
    }
  }
  return term;
}

// The size of each label. Sizes of a letter agree; of the ellipsis' axes, those of 1 stretch.
std::map<int, int64_t> LabelSizes(const Node& node, const EinsumEquation& equation,
                                  const std::vector<Shape>& shapes) {
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t axis = 0; axis < equation.inputs[i].size(); ++axis) {
      const int label = equation.inputs[i][axis];
      const int64_t size = shapes[i].dims()[axis];
      const auto [at, is_new] = sizes.try_emplace(label, size);
      int64_t& known = at->second;
      if (is_new || size == known) continue;
      if (label < 0 && (size == 1 || known == 1)) {
        if (known == 1) known = size;
      } else if (known == kUnknownDim || size == kUnknownDim) {
        known = std::max(known, size);
      } else {
        FailEinsum(node, fmt::format("label '{}' has sizes {} and {}",
                                     label < 0 ? "..." : std::string(1, static_cast<char>(label)),
                                     known, size));
      }
    }
  }
  return sizes;
}

void EinsumShape(ShapeContext& context) {
  const Node& node = context.node();
  std::vector<Shape> shapes;
  for (int i = 0; i < context.inputs(); ++i) {
    shapes.push_back(context.Input(i));
    if (!shapes.back().known_rank()) return context.Output(0, Shape::UnknownRank());
  }
  const EinsumEquation equation = ReadEinsum(node);
  const std::map<int, int64_t> sizes = LabelSizes(node, equation, shapes);
  std::vector<int64_t> dims;
  for (const int label : equation.output) dims.push_back(sizes.at(label));
  context.Output(0, Shape(std::move(dims)));
}

// The labels without repetitions.
EinsumLabels DistinctLabels(const EinsumLabels& labels) {
  EinsumLabels distinct;
  for (const int label : labels) {
    if (!HasLabel(distinct, label)) distinct.push_back(label);
  }
  return distinct;
}

// Inverts taking a diagonal: returns a tensor with the axes `labels`, in which a label may occur
// twice. x has an axis for each different label and becomes the diagonal; other elements are zero.
Value OnDiagonal(Value x, const EinsumLabels& labels) {
  EinsumLabels distinct = DistinctLabels(labels);
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const auto is_first = std::find(labels.begin(), labels.end(), labels[axis]) ==
                          labels.begin() + static_cast<long>(axis);
    if (is_first) continue;
    int other = 'a';  // names the new axis
    while (HasLabel(labels, other) || HasLabel(distinct, other))
      other = other == 'z' ? 'A' : other + 1;
    const auto at = std::find(distinct.begin(), distinct.end(), labels[axis]) - distinct.begin();
    const int64_t size = x.shape().dim(static_cast<int>(at));
    const Value unit = MatrixBandPart(Ones(x.graph(), x.dtype(), Shape({size, size})), 0, 0);
    EinsumLabels grown = distinct;
    grown.insert(grown.begin() + static_cast<long>(axis), other);
    x = Einsum({x, unit}, fmt::format("{},{}->{}", TermOf(distinct), TermOf({labels[axis], other}),
                                      TermOf(grown)));
    distinct = grown;
  }
  return x;
}

// The gradient of input i: the product of dy and the other input, by the labels that they share
// with it; repeated along the axes that only this input has.
Value EinsumGradOf(GradContext& c, const EinsumEquation& equation, int i) {
  const EinsumLabels& given = equation.inputs[static_cast<size_t>(i)];
  const EinsumLabels labels = DistinctLabels(given);
  Value x = c.input(i);
  if (labels != given) {
    for (const int64_t size : x.shape().dims()) {
      NeedInGraph(c, size != kUnknownDim, "the sizes of an input that names a label twice");
    }
    x = Einsum({x}, TermOf(given) + "->" + TermOf(labels));
  }
  std::vector<Value> factors{c.Dy()};
  std::vector<EinsumLabels> terms{equation.output};
  for (size_t other = 0; other < equation.inputs.size(); ++other) {
    if (static_cast<int>(other) == i) continue;
    factors.push_back(c.input(static_cast<int>(other)));
    terms.push_back(equation.inputs[other]);
  }
  EinsumLabels kept;
  for (const int label : labels) {
    if (std::any_of(terms.begin(), terms.end(),
                    [&](const EinsumLabels& term) { return HasLabel(term, label); })) {
      kept.push_back(label);
    }
  }
  std::string text = TermOf(terms[0]);
  for (size_t t = 1; t < terms.size(); ++t) text += "," + TermOf(terms[t]);
  Value dx = Einsum(factors, text + "->" + TermOf(kept));
  if (kept.size() != labels.size()) {
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      if (!HasLabel(kept, labels[axis])) dx = ExpandDims(dx, static_cast<int>(axis));
    }
    dx = BroadcastTo(dx, ShapeOf(x));
  } else {
    const bool aligned = dx.shape().rank() == x.shape().rank() || labels.empty() || labels[0] < 0;
    NeedInGraph(c, aligned, "inputs to have as many axes for '...' where it does not come first");
    dx = SumToShapeOf(dx, x);
  }
  return labels == given ? dx : OnDiagonal(dx, given);
}

void EinsumGrad(GradContext& c) {
  const int inputs = static_cast<int>(c.node().inputs().size());
  for (int i = 0; i < inputs; ++i) {
    NeedInGraph(c, c.input(i).shape().known_rank(), "the ranks of its inputs");
  }
  const EinsumEquation equation = ReadEinsum(c.node());
  for (int i = 0; i < inputs; ++i) {
    if (c.Wants(i)) c.SetDx(i, EinsumGradOf(c, equation, i));
  }
}

int64_t EinsumFlops(const Node& node) {
  std::vector<Shape> shapes;
  for (const Value& input : node.inputs()) {
    if (!input.shape().known_rank()) return 0;
    shapes.push_back(input.shape());
  }
  int64_t products = node.inputs().size() == 1 ? 1 : 2;
  for (const auto& [label, size] : LabelSizes(node, ReadEinsum(node), shapes)) {
    if (size != kUnknownDim) products *= size;
  }
  return products;
}

// kEach where the rows are the output's first axis, kSum where they are summed.
Rows EinsumRows(RowContext& context) {
  const Node& node = context.node();
  const EinsumEquation equation = ReadEinsum(node);
  int rows = 0;
  for (size_t i = 0; i < equation.inputs.size() && rows == 0; ++i) {
    if (context.IsCut(static_cast<int>(i))) rows = equation.inputs[i].front();
  }
  const bool keeps = !equation.output.empty() && equation.output.front() == rows;
  if (!keeps && (HasLabel(equation.output, rows) || rows < 0)) return Rows::kWhole;
  // Parts are added in float, which the product of bfloat16 rounds.
  if (!keeps && node.output_dtype(0) == DType::kBfloat16) return Rows::kWhole;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    const EinsumLabels& labels = equation.inputs[i];
    const auto input = static_cast<int>(i);
    const auto times = std::count(labels.begin(), labels.end(), rows);
    if (times == 0 && !context.IsCut(input)) continue;
    if (times != 1 || labels.front() != rows) return Rows::kWhole;
    if (AllCut(context, input, input) == Rows::kWhole) return Rows::kWhole;
  }
  return keeps ? Rows::kEach : Rows::kSum;
}

// The labels by their role in the product of x and y. Without y, `only[0]` holds all labels of x
// that the output lacks.
struct EinsumGroups {
  EinsumLabels batch;    // in x, y and the output
  EinsumLabels rows;     // in x and the output
  EinsumLabels columns;  // in y and the output
  EinsumLabels inner;    // in x and y
  EinsumLabels only[2];  // only in x, and only in y
};

EinsumGroups GroupLabels(const EinsumEquation& equation) {
  EinsumGroups groups;
  const EinsumLabels& x = equation.inputs[0];
  const EinsumLabels y = equation.inputs.size() == 2 ? equation.inputs[1] : EinsumLabels{};
  for (const int label : equation.output) {
    (!HasLabel(y, label)  ? groups.rows
     : HasLabel(x, label) ? groups.batch
                          : groups.columns)
        .push_back(label);
  }
  const auto add_once = [](EinsumLabels& to, int label) {
    if (!HasLabel(to, label)) to.push_back(label);
  };
  for (const int label : x) {
    if (HasLabel(equation.output, label)) continue;
    add_once(HasLabel(y, label) ? groups.inner : groups.only[0], label);
  }
  for (const int label : y) {
    if (!HasLabel(equation.output, label) && !HasLabel(x, label)) add_once(groups.only[1], label);
  }
  return groups;
}

EinsumLabels Joined(const std::vector<EinsumLabels>& parts) {
  EinsumLabels all;
  for (const EinsumLabels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Plans the kernels of one node.
class EinsumPlanner {
 public:
  explicit EinsumPlanner(PlanContext& context)
      : context_(context),
        dtype_(context.InputDType(0)),
        equation_(ReadEinsum(context.node())),
        groups_(GroupLabels(equation_)) {
    std::vector<Shape> shapes;
    for (int i = 0; i < context.inputs(); ++i) shapes.push_back(context.InputShape(i));
    sizes_ = LabelSizes(context.node(), equation_, shapes);
  }

  void Plan() {
    if (context_.inputs() == 1) return PlanOne();
    const auto [x, x_turned] = Operand(0, groups_.rows, groups_.inner);
    const auto [y, y_turned] = Operand(1, groups_.inner, groups_.columns);
    const EinsumLabels order = Joined({groups_.batch, groups_.rows, groups_.columns});
    const bool in_place = order == equation_.output;
    const Buffer out = context_.Output(0);
    const Buffer product_buffer = in_place ? out : Scratch(order);
    const GemmShape shape = {.rows = Elements(groups_.rows),
                             .inner = Elements(groups_.inner),
                             .columns = Elements(groups_.columns),
                             .transpose_a = x_turned,
                             .transpose_b = y_turned};
    const int64_t count = Elements(groups_.batch);
    const BatchProduct product(shape, dtype_);
    const Buffer scratch = context_.Scratch(product.scratch_bytes());
    context_.Run([=, x = x, y = y](const Task& task) {
      product.Run(count, task.At(x), task.At(y), task.At(product_buffer), task.At(scratch));
    });
    if (!in_place) Copy(product_buffer, StridesIn(order, equation_.output), equation_.output, out);
  }

 private:
  // The one input, summed along what the output lacks.
  void PlanOne() {
    const EinsumLabels& order = equation_.output;
    const EinsumLabels& summed = groups_.only[0];
    const Buffer x = context_.Input(0);
    const Buffer out = context_.Output(0);
    if (summed.empty()) return Copy(x, InputStrides(0, order), order, out);
    const EinsumLabels all = Joined({order, summed});
    const Buffer ordered = Scratch(all);
    Copy(x, InputStrides(0, all), all, ordered);
    SumLast(ordered, Elements(order), Elements(summed), out);
  }

  struct Factor {
    Buffer buffer;
    bool turned = false;  // as [batch, second, first]
  };

  // An input as [batch, first, second]: itself where its memory is in this order, or with both
  // exchanged; otherwise a copy.
  Factor Operand(int input, const EinsumLabels& first, const EinsumLabels& second) {
    const EinsumLabels order = Joined({groups_.batch, first, second});
    const EinsumLabels turned = Joined({groups_.batch, second, first});
    const EinsumLabels& only = groups_.only[input];
    const Buffer buffer = context_.Input(input);
    if (only.empty() && IsPlain(input, order)) return {buffer};
    if (only.empty() && IsPlain(input, turned)) return {buffer, true};
    const EinsumLabels all = Joined({order, only});
    const Buffer ordered = Scratch(all);
    Copy(buffer, InputStrides(input, all), all, ordered);
    if (only.empty()) return {ordered};
    const Buffer sums = Scratch(order);
    SumLast(ordered, Elements(order), Elements(only), sums);
    return {sums};
  }

  // True if the input's memory is a row-major tensor of these labels.
  [[nodiscard]] bool IsPlain(int input, const EinsumLabels& order) const {
    return InputStrides(input, order) == StridesIn(order, order) &&
           context_.InputShape(input).elements() == Elements(order);
  }

  // The input's strides along these labels: 0 where it is repeated, the sum of both where it is
  // read along a diagonal.
  [[nodiscard]] std::vector<int64_t> InputStrides(int input, const EinsumLabels& order) const {
    const Shape& shape = context_.InputShape(input);
    const std::vector<int64_t> strides = StridesOf(shape);
    const EinsumLabels& labels = equation_.inputs[static_cast<size_t>(input)];
    std::vector<int64_t> result;
    for (const int label : order) {
      int64_t stride = 0;
      for (size_t axis = 0; axis < labels.size(); ++axis) {
        const bool repeated = shape.dims()[axis] == 1 && sizes_.at(label) != 1;
        if (labels[axis] == label && !repeated) stride += strides[axis];
      }
      result.push_back(stride);
    }
    return result;
  }

  // The strides along the labels `order` of a row-major tensor of the labels `memory`.
  [[nodiscard]] std::vector<int64_t> StridesIn(const EinsumLabels& memory,
                                               const EinsumLabels& order) const {
    const std::vector<int64_t> strides = StridesOf(Shape(Dims(memory)));
    std::vector<int64_t> result;
    for (const int label : order) {
      const auto at = std::find(memory.begin(), memory.end(), label) - memory.begin();
      result.push_back(strides[static_cast<size_t>(at)]);
    }
    return result;
  }

  [[nodiscard]] std::vector<int64_t> Dims(const EinsumLabels& labels) const {
    std::vector<int64_t> dims;
    for (const int label : labels) dims.push_back(sizes_.at(label));
    return dims;
  }

  [[nodiscard]] int64_t Elements(const EinsumLabels& labels) const {
    return Shape(Dims(labels)).elements();
  }

  Buffer Scratch(const EinsumLabels& labels) {
    double elements = 1;
    for (const int64_t size : Dims(labels)) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(kMostElements)) {
      FailEinsum(context_.node(), "the products are too many for a tensor");
    }
    return context_.Scratch(static_cast<size_t>(Elements(labels)) * ElementBytes(dtype_));
  }

  // Copies a view with these strides along `order` to a row-major tensor.
  void Copy(Buffer from, const std::vector<int64_t>& strides, const EinsumLabels& order,
            Buffer to) {
    const std::vector<int64_t> dims = Dims(order);
    const StridedCopy copy(dims, {.strides = strides}, {.strides = StridesOf(Shape(dims))},
                           ElementBytes(dtype_));
    if (Elements(order) == 0) return;
    context_.Run([=](const Task& task) { copy.Run(task.At(from), task.At(to)); });
  }

  // Sums each line of [lines, size].
  void SumLast(Buffer from, int64_t lines, int64_t size, Buffer to) {
    const auto run = [&]<class T, class Wide>(T /*of*/, Wide /*in*/) {
      context_.Run([=](const Task& task) {
        const T* x = task.At<T>(from);
        for (int64_t line = 0; line < lines; ++line, x += size) {
          Wide sum = 0;
          for (int64_t i = 0; i < size; ++i) sum += ConvertTo<Wide>(x[i]);
          task.At<T>(to)[line] = ConvertTo<T>(sum);
        }
      });
    };
    if (dtype_ == DType::kDouble) return run(double{}, double{});
    if (dtype_ == DType::kBfloat16) return run(bfloat16{}, float{});
    run(float{}, float{});
  }

  PlanContext& context_;
  DType dtype_;
  EinsumEquation equation_;
  EinsumGroups groups_;
  std::map<int, int64_t> sizes_;
};

void PlanEinsum(PlanContext& context) { EinsumPlanner(context).Plan(); }

// A value whose axes have labels.
struct LabelledHlo {
  HloValue value;
  EinsumLabels labels;
};

std::vector<int64_t> AxesOfLabels(const EinsumLabels& labels, const EinsumLabels& wanted) {
  std::vector<int64_t> axes;
  for (const int label : wanted) {
    axes.push_back(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
  return axes;
}

// x without its last axis of a label that it names twice: the diagonal, as a sum of zeros and it.
void TakeDiagonal(HloBuilder& hlo, LabelledHlo& x) {
  for (size_t axis = 0; axis < x.labels.size(); ++axis) {
    const auto first = static_cast<size_t>(
        std::find(x.labels.begin(), x.labels.end(), x.labels[axis]) - x.labels.begin());
    if (first == axis) continue;
    const Shape& shape = x.value.shape;
    const HloTerm i(hlo, hlo.Iota(DType::kInt32, shape, static_cast<int64_t>(first)));
    const HloTerm j(hlo, hlo.Iota(DType::kInt32, shape, static_cast<int64_t>(axis)));
    const HloTerm kept = Where(Equals(i, j), HloTerm(hlo, x.value), 0.0);
    x.value = hlo.Reduce("add", kept.value(), {static_cast<int64_t>(axis)}, 0);
    x.labels.erase(x.labels.begin() + static_cast<long>(axis));
    return TakeDiagonal(hlo, x);
  }
}

// Sums along the labels that nothing else has, and repeats along those of 1 that stretch.
LabelledHlo LowerOperand(LowerContext& c, const EinsumEquation& equation, const EinsumLabels& only,
                         const std::map<int, int64_t>& sizes, int i) {
  HloBuilder& hlo = c.hlo();
  LabelledHlo x{WideInput(c, i).value(), equation.inputs[static_cast<size_t>(i)]};
  TakeDiagonal(hlo, x);
  if (!only.empty()) {
    x.value = hlo.Reduce("add", x.value, AxesOfLabels(x.labels, only), 0);
    for (const int label : only) std::erase(x.labels, label);
  }
  std::vector<int64_t> dims;
  for (const int label : x.labels) dims.push_back(sizes.at(label));
  if (Shape(dims) != x.value.shape) x.value = hlo.Broadcast(x.value, Shape(dims));
  return x;
}

void LowerEinsum(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const EinsumEquation equation = ReadEinsum(c.node());
  const EinsumGroups groups = GroupLabels(equation);
  std::vector<Shape> shapes;
  for (int i = 0; i < c.inputs(); ++i) shapes.push_back(c.Input(i).shape);
  const std::map<int, int64_t> sizes = LabelSizes(c.node(), equation, shapes);
  LabelledHlo result = LowerOperand(c, equation, groups.only[0], sizes, 0);
  if (c.inputs() == 2) {
    const LabelledHlo y = LowerOperand(c, equation, groups.only[1], sizes, 1);
    const DotAxes axes{.batch_x = AxesOfLabels(result.labels, groups.batch),
                       .batch_y = AxesOfLabels(y.labels, groups.batch),
                       .contract_x = AxesOfLabels(result.labels, groups.inner),
                       .contract_y = AxesOfLabels(y.labels, groups.inner)};
    // Dot's result has the batch, then what is left of x and of y.
    EinsumLabels labels = groups.batch;
    for (const LabelledHlo* const factor : {&std::as_const(result), &y}) {
      for (const int label : factor->labels) {
        if (!HasLabel(groups.batch, label) && !HasLabel(groups.inner, label))
          labels.push_back(label);
      }
    }
    result = {hlo.Dot(result.value, y.value, axes), labels};
  }
  const HloValue ordered =
      hlo.Transpose(result.value, AxesOfLabels(result.labels, equation.output));
  c.Output(0, hlo.Convert(ordered, c.OutputDType(0)));
}

const OpDef kEinsumOps[] = {
    {.name = "Einsum",
     .signature = "inputs: N*T -> output: T; equation: string; N: int >= 1 <= 2; "
                  "T: bfloat16|float|double",
     .shape = EinsumShape,
     .grad = EinsumGrad,
     .cpu = PlanEinsum,
     .hlo = LowerEinsum,
     .rows = EinsumRows,
     .flops = EinsumFlops},
};

}  // namespace

OpFamily EinsumOps() { return kEinsumOps; }

}  // namespace tpuest::ops
