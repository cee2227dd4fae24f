#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "models/keras/config/layers.h"

namespace tpuest {
namespace {

KerasJson ForEach(const KerasJson& value, const std::function<double(double)>& f) {
  if (value.is_number()) return KerasJson(f(value.get<double>()));
  KerasJson list = KerasJson::array();
  for (const KerasJson& item : value) {
    if (!item.is_number()) RefuseKeras(fmt::format("its constant {} is not a list", value.dump()));
    list.push_back(f(item.get<double>()));
  }
  return list;
}

KerasJson Scaled(const KerasJson& scale, const KerasJson& offset) {
  KerasJson section = {{"type", "Rescaling"}, {"scale", ShortNumbers(scale)}};
  if (!offset.is_null()) section["offset"] = ShortNumbers(offset);
  return section;
}

// "math.add" and "__operators__.add" as "add", Keras 3's "TrueDivide" as "truediv".
std::string Short(const std::string& function) {
  std::string name = function.substr(function.rfind('.') + 1);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (name == "truedivide" || name == "divide") return "truediv";
  if (name == "mul") return "multiply";
  if (name == "sub") return "subtract";
  if (name == "getitem" || name == "__getitem__") return "getitem";
  return name;
}

[[noreturn]] void RefuseOperation(const KerasOperation& operation) {
  RefuseKeras(
      fmt::format("the operation '{}' is not supported with these arguments", operation.function),
      "use a layer of Keras, or a SavedModel: model: {type: saved_model}");
}

// An operation on a constant and a tensor.
KerasJson WithConstant(const KerasOperation& operation, const std::string& name) {
  const KerasJson constant = Unwrapped(operation.constant);
  if (!constant.is_number() && !constant.is_array()) RefuseOperation(operation);
  const auto same = [](double x) { return x; };
  const auto minus = [](double x) { return -x; };
  if (name == "add" || name == "bias_add") return Scaled(1, ForEach(constant, same));
  if (name == "multiply") return Scaled(ForEach(constant, same), nullptr);
  if (name == "subtract" && operation.constant_first) return Scaled(-1, ForEach(constant, same));
  if (name == "subtract") return Scaled(1, ForEach(constant, minus));
  if (name == "truediv" && !operation.constant_first) {
    return Scaled(ForEach(constant, [](double x) { return 1 / x; }), nullptr);
  }
  RefuseOperation(operation);
}

// Whether a slice, in either dialect, takes all of an axis; with `step`, in that step.
bool TakesAll(const KerasJson& slice, int step = 1) {
  const KerasJson& fields = slice.contains("config") ? MemberOf(slice, "config") : slice;
  const KerasJson& given = MemberOf(fields, "step");
  return slice.is_object() && MemberOf(fields, "start").is_null() &&
         MemberOf(fields, "stop").is_null() && (given == step || (step == 1 && given.is_null()));
}

bool IsEllipsis(const KerasJson& slice) { return WordOf(slice, "class_name") == "__ellipsis__"; }

// x[..., ::-1]: the channels the other way round.
KerasJson ItemOf(const KerasOperation& operation) {
  KerasJson slices = Unwrapped(operation.constant);
  if (slices.is_null()) slices = Unwrapped(MemberOf(operation.arguments, "slice_spec"));
  if (slices.is_array() && slices.size() > 1 && TakesAll(slices.back(), -1)) {
    const bool others = std::all_of(slices.begin(), slices.end() - 1, [](const KerasJson& slice) {
      return IsEllipsis(slice) || TakesAll(slice);
    });
    if (others) return {{"type", "Reverse"}};
  }
  RefuseKeras("this slice is not supported",
              "x[..., ::-1] is; use a Cropping layer to remove rows and columns");
}

KerasJson PooledOver(const KerasOperation& operation) {
  KerasJson axes = Unwrapped(MemberOf(operation.arguments, "axis"));
  const bool keep = MemberOf(operation.arguments, "keepdims") == true;
  if (axes != KerasJson({1, 2}) && axes != KerasJson({2, 1})) RefuseOperation(operation);
  KerasJson section = {{"type", "GlobalAveragePooling2D"}};
  if (keep) section["keepdims"] = true;
  return section;
}

KerasJson Reshaped(const KerasOperation& operation) {
  const KerasJson& given = MemberOf(operation.arguments, "newshape").is_null()
                               ? MemberOf(operation.arguments, "shape")
                               : MemberOf(operation.arguments, "newshape");
  const KerasJson shape = Unwrapped(given);
  if (!shape.is_array() || shape.size() < 2 || shape.front() != -1) RefuseOperation(operation);
  KerasJson of_example = KerasJson::array();
  for (size_t i = 1; i < shape.size(); ++i) of_example.push_back(shape[i]);
  return {{"type", "Reshape"}, {"shape", of_example}};
}

KerasJson OfTensors(const KerasOperation& operation, const std::string& name) {
  if (operation.tensors > 1) {
    if (name == "add") return {{"type", "Add"}};
    if (name == "subtract") return {{"type", "Subtract"}};
    if (name == "multiply") return {{"type", "Multiply"}};
    if (name == "maximum") return {{"type", "Maximum"}};
    if (name == "minimum") return {{"type", "Minimum"}};
    if (name == "concat" || name == "concatenate") {
      KerasJson section = {{"type", "Concatenate"}};
      const KerasJson& axis = MemberOf(operation.arguments, "axis");
      if (axis.is_number() && axis != -1) section["axis"] = axis;
      return section;
    }
    RefuseOperation(operation);
  }
  if (name == "relu6") return {{"type", "ReLU"}, {"max_value", 6}};
  if (name == "softmax") return {{"type", "Softmax"}};
  if (name == "relu" || name == "sigmoid" || name == "tanh" || name == "swish" || name == "silu") {
    return {{"type", "Activation"}, {"activation", name}};
  }
  if (name == "exp") return {{"type", "Activation"}, {"activation", "exponential"}};
  if (name == "reduce_mean" || name == "mean") return PooledOver(operation);
  if (name == "reshape") return Reshaped(operation);
  if (name == "cast") return {{"type", "Activation"}, {"activation", "linear"}};
  RefuseOperation(operation);
}

// Whether an operation looks at an argument, or does not need it for this value.
bool IsKnownArgument(const std::string& name, const std::string& key, const KerasJson& value) {
  if (value.is_null() || key == "name") return true;
  if (key == "axis") {
    return name == "mean" || name == "reduce_mean" || name == "concat" || name == "concatenate" ||
           (name == "softmax" && value == -1);
  }
  if (key == "keepdims") return name == "mean" || name == "reduce_mean";
  if (key == "shape" || key == "newshape") return name == "reshape";
  if (key == "dtype") return name == "cast" && PolicyOf(value) == "float32";
  return key == "slice_spec" && name == "getitem";
}

void CheckOperationArguments(const KerasOperation& operation, const std::string& name) {
  if (!operation.arguments.is_object()) return;
  for (const auto& [key, value] : operation.arguments.items()) {
    if (IsKnownArgument(name, key, value)) continue;
    RefuseKeras(fmt::format("the argument '{}' of '{}' is not supported: {}", key,
                            operation.function, value.dump()));
  }
}

}  // namespace

KerasJson KerasOperationOf(const KerasOperation& operation) {
  const std::string name = Short(operation.function);
  CheckOperationArguments(operation, name);
  if (name == "getitem") return ItemOf(operation);
  if (!operation.constant.is_null()) return WithConstant(operation, name);
  return OfTensors(operation, name);
}

}  // namespace tpuest
