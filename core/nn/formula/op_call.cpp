// Calls of ops by their records: an op that is added to the registry is a function at once.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/nn/formula/call.h"
#include "core/ops/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/strings.h"
#include "core/ops/texts.h"

namespace tpuest::nn {
namespace {

// TensorFlow's public name of an op where it is not the op's own.
struct PublicName {
  std::string_view name;
  std::string_view op;
};
constexpr std::array kPublicNames = {
    PublicName{"add", "AddV2"},
    PublicName{"subtract", "Sub"},
    PublicName{"multiply", "Mul"},
    PublicName{"negative", "Neg"},
    PublicName{"floordiv", "FloorDiv"},
    PublicName{"floormod", "FloorMod"},
    PublicName{"mod", "FloorMod"},
    PublicName{"divide_no_nan", "DivNoNan"},
    PublicName{"to_hash_bucket_fast", "StringToHashBucketFast"},
    PublicName{"to_hash_bucket_strong", "StringToHashBucketStrong"},
    PublicName{"length", "StringLength"},
    PublicName{"lower", "StringLower"},
    PublicName{"upper", "StringUpper"},
    PublicName{"strip", "StringStrip"},
    PublicName{"join", "StringJoin"},
    PublicName{"reverse", "ReverseV2"},
    PublicName{"band_part", "MatrixBandPart"},
};

// "Log1p" -> "log1p", "BiasAdd" -> "bias_add", "Conv2D" -> "conv2d", "SqrtNWith" -> "sqrt_n_with".
std::string SmallName(std::string_view op) {
  const auto is_small = [&](size_t i) {
    return i < op.size() && std::islower(static_cast<unsigned char>(op[i])) != 0;
  };
  std::string name;
  for (size_t i = 0; i < op.size(); ++i) {
    const auto c = static_cast<unsigned char>(op[i]);
    const bool starts =
        std::isupper(c) != 0 && i > 0 &&
        (is_small(i - 1) ||
         (std::isupper(static_cast<unsigned char>(op[i - 1])) != 0 && is_small(i + 1)));
    if (starts) name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

bool IsInferred(const Signature& signature, const AttrDef& attr) {
  return std::any_of(signature.inputs.begin(), signature.inputs.end(), [&](const ArgDef& input) {
    return input.type_attr == attr.name || input.number_attr == attr.name ||
           input.type_list_attr == attr.name;
  });
}

// True for an argument that a formula can write.
bool IsWritable(const Signature& signature, const AttrDef& attr) {
  static const std::set<std::string_view> types = {"int",  "float",  "bool",     "list(float)",
                                                   "type", "string", "list(int)"};
  return IsInferred(signature, attr) || attr.name.starts_with('_') || types.contains(attr.type);
}

bool IsTensors(const ArgDef& arg) {
  return arg.dtype != DType::kResource && arg.type_list_attr.empty();
}

// Whether formulas may call the op: not variables, random numbers, functions of graphs, or
// gradients of other functions.
bool IsCallable(const RegisteredOp& op) {
  const OpDef& def = *op.def;
  const bool is_gradient = def.name.find("Grad") != std::string_view::npos ||
                           def.name.find("Backprop") != std::string_view::npos;
  if (def.name.starts_with('_') || (is_gradient && !def.name.ends_with("Gradient")) ||
      def.stateful || def.writes || def.crosses_replicas() || def.source != ValueSource::kNone) {
    return false;
  }
  const Signature& signature = op.signature;
  return !signature.inputs.empty() && !signature.outputs.empty() &&
         std::all_of(signature.inputs.begin(), signature.inputs.end(), IsTensors) &&
         std::all_of(signature.outputs.begin(), signature.outputs.end(), IsTensors) &&
         std::all_of(signature.attrs.begin(), signature.attrs.end(),
                     [&](const AttrDef& attr) { return IsWritable(signature, attr); });
}

// Ops whose results keep the positions of their arguments, so that rows stay rows.
bool IsElementwise(std::string_view op) {
  static const std::set<std::string_view> names = [] {
    std::set<std::string_view> all = {"Identity", "StopGradient", "ZerosLike", "OnesLike"};
    for (const OpFamily family :
         {ops::UnaryOps(), ops::BinaryOps(), ops::ActivationOps(), ops::BucketOps(),
          ops::StringOps(), ops::TextOps(), ops::RegexOps()}) {
      for (const OpDef& def : family) all.insert(def.name);
    }
    return all;
  }();
  return names.contains(op) || op == "SelectV2" || op == "AddN";
}

std::string TextOfDefault(const AttrValue& value) {
  if (const auto* const integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* const real = std::get_if<float>(&value)) return NumberText(*real);
  if (const auto* const truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const auto* const text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  if (const auto* const dtype = std::get_if<DType>(&value)) return std::string(NameOf(*dtype));
  return "[]";
}

template <class T, class Convert>
std::vector<T> ListOf(const Arguments& a, size_t i, Convert convert) {
  const Literal* const literal = a.at(i).literal();
  const auto* const list = literal == nullptr ? nullptr : std::get_if<Literals>(&literal->value);
  if (list == nullptr) {
    a.Fail(i, fmt::format("'{}' must be a list, found {}", a.name(i), Described(a.at(i))));
  }
  std::vector<T> values;
  for (const Literal& item : *list) values.push_back(convert(item));
  return values;
}

AttrValue AttrOf(const Arguments& a, size_t i, const AttrDef& attr) {
  const auto number = [&](const Literal& item) {
    if (!config::IsNumber(item)) a.Fail(i, "found " + config::KindOf(item) + ", expected numbers");
    return static_cast<float>(config::NumberOf(item));
  };
  if (attr.type == "int") return a.Integer(i);
  if (attr.type == "float") return static_cast<float>(a.Number(i));
  if (attr.type == "bool") return a.Truth(i, false);
  if (attr.type == "type") return a.Type(i);
  if (attr.type == "list(int)") return a.Integers(i);
  if (attr.type == "list(float)") return ListOf<float>(a, i, number);
  if (attr.type == "string") {
    const Literal* const literal = a.at(i).literal();
    const auto* const text =
        literal == nullptr ? nullptr : std::get_if<std::string>(&literal->value);
    if (text != nullptr) return *text;
    a.Fail(i, fmt::format("'{}' must be a text, found {}", a.name(i), Described(a.at(i))));
  }
  a.Fail(i, fmt::format("formulas cannot express '{}'", a.name(i)));
}

// The type of the first tensor among the arguments that share a type attribute, or otherwise that
// of the Python values, or otherwise one that the op takes.
std::optional<DType> SharedType(const RegisteredOp& op, const Arguments& a, const ArgDef& input) {
  if (input.dtype != DType::kInvalid) return input.dtype;
  std::optional<DType> natural;
  const std::vector<ArgDef>& inputs = op.signature.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type_attr != input.type_attr) continue;
    if (const Tensored* const tensor = a.at(i).tensor()) return tensor->value.dtype();
    const Literal* const literal = a.at(i).literal();
    if (literal == nullptr || a.at(i).none()) continue;
    const DType one = BuiltAt(a.place(i), [&] { return NaturalType(*literal); });
    if (!natural || one == DType::kFloat) natural = one;
  }
  const AttrDef* const attr = op.signature.FindAttr(input.type_attr);
  const auto takes = [&](DType dtype) {
    return attr == nullptr || attr->allowed.empty() ||
           std::find(attr->allowed.begin(), attr->allowed.end(), dtype) != attr->allowed.end();
  };
  // tf.exp(1) is that of 1.0.
  if (natural && !takes(*natural) && IsInteger(*natural) && takes(DType::kFloat)) {
    return DType::kFloat;
  }
  return natural;
}

}  // namespace

const RegisteredOp* FindOp(const OpRegistry& registry, std::string_view name) {
  for (const PublicName& known : kPublicNames) {
    if (known.name == name) return registry.Find(known.op);
  }
  for (const auto& [op, registered] : registry.ops()) {
    if (SmallName(op) == name && IsCallable(registered)) return &registered;
  }
  return nullptr;
}

std::vector<std::string> OpNames(const OpRegistry& registry) {
  std::vector<std::string> names;
  for (const PublicName& known : kPublicNames) names.emplace_back(known.name);
  for (const auto& [op, registered] : registry.ops()) {
    if (IsCallable(registered)) names.push_back(SmallName(op));
  }
  return names;
}

std::vector<Parameter> ParametersOf(const RegisteredOp& op) {
  std::vector<Parameter> parameters;
  for (const ArgDef& input : op.signature.inputs) parameters.push_back({input.name, std::nullopt});
  for (const AttrDef& attr : op.signature.attrs) {
    if (IsInferred(op.signature, attr) || attr.name.starts_with('_')) continue;
    std::optional<std::string> by_default;
    if (attr.default_value) by_default = TextOfDefault(*attr.default_value);
    parameters.push_back({attr.name, by_default});
  }
  return parameters;
}

Operand CallOp(const RegisteredOp& op, const Arguments& a) {
  const std::vector<ArgDef>& inputs = op.signature.inputs;
  std::vector<Tensored> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].number_attr.empty()) {
      for (const Tensored& item : a.Items(i)) tensors.push_back(item);
      continue;
    }
    tensors.push_back(a.Tensor(i, SharedType(op, a, inputs[i])));
  }
  Attrs attrs;
  size_t i = inputs.size();
  for (const AttrDef& attr : op.signature.attrs) {
    if (IsInferred(op.signature, attr) || attr.name.starts_with('_')) continue;
    if (a.Has(i)) attrs[attr.name] = AttrOf(a, i, attr);
    ++i;
  }
  return BuiltAt(a.call(), [&]() -> Operand {
    const bool rows = AlignRows(tensors);
    if (rows && !IsElementwise(op.def->name)) {
      throw config::Misfit{fmt::format("{} cannot be used on single examples", a.call().text)};
    }
    std::vector<Value> values;
    for (const Tensored& tensor : tensors) values.push_back(tensor.value);
    Node* const node = a.graph().AddNode(op.def->name, values, attrs);
    if (node->outputs() == 1) return {Tensored{node->output(0), rows}};
    Operands outputs;
    for (int o = 0; o < node->outputs(); ++o) outputs.push_back({Tensored{node->output(o), rows}});
    return {std::move(outputs)};
  });
}

Tensored Elementwise(Graph& graph, std::string_view op, const std::vector<const Operand*>& operands,
                     std::string_view what) {
  std::vector<Tensored> tensors = OfOneType(graph, operands, what);
  const bool rows = AlignRows(tensors);
  std::vector<Value> values;
  for (const Tensored& tensor : tensors) values.push_back(tensor.value);
  return {graph.Add(op, values), rows};
}

}  // namespace tpuest::nn
