#include "cli/prepare/migrate/columns/normalizers.h"

#include <map>
#include <set>
#include <string_view>

#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr int kMostOps = 40;      // a damaged graph may go in circles
constexpr size_t kLongest = 400;  // characters; a formula for readers
constexpr int64_t kMostNumbers = 64;
constexpr int64_t kFloatType = 1;  // tensorflow.DataType

const char* FunctionOf(std::string_view op) {
  static const std::map<std::string_view, const char*> kFunctions = {
      {"Abs", "abs"},
      {"Ceil", "ceil"},
      {"Cos", "cos"},
      {"Exp", "exp"},
      {"Expm1", "expm1"},
      {"Floor", "floor"},
      {"Log", "log"},
      {"Log1p", "log1p"},
      {"Relu", "relu"},
      {"Relu6", "relu6"},
      {"Round", "round"},
      {"Rsqrt", "rsqrt"},
      {"Sigmoid", "sigmoid"},
      {"Sign", "sign"},
      {"Sin", "sin"},
      {"Softplus", "softplus"},
      {"Sqrt", "sqrt"},
      {"Square", "square"},
      {"Tanh", "tanh"},
      {"IsNan", "is_nan"},
      {"Maximum", "maximum"},
      {"Minimum", "minimum"},
      {"DivNoNan", "div_no_nan"},
      {"SquaredDifference", "squared_difference"},
      {"Atan", "atan"},
      {"Elu", "elu"}};
  const auto found = kFunctions.find(op);
  return found == kFunctions.end() ? nullptr : found->second;
}

const char* SignOf(std::string_view op) {
  static const std::map<std::string_view, const char*> kSigns = {
      {"Add", "+"},        {"AddV2", "+"},   {"Sub", "-"},           {"Mul", "*"},
      {"RealDiv", "/"},    {"Div", "/"},     {"FloorDiv", "//"},     {"FloorMod", "%"},
      {"Pow", "**"},       {"Greater", ">"}, {"GreaterEqual", ">="}, {"Less", "<"},
      {"LessEqual", "<="}, {"Equal", "=="},  {"NotEqual", "!="}};
  const auto found = kSigns.find(op);
  return found == kSigns.end() ? nullptr : found->second;
}

bool IsSource(const SeenNode& node) {
  return node.op.starts_with("IteratorGetNext") || node.op == "Placeholder" ||
         node.op.starts_with("ParseExample") || node.op.starts_with("InfeedDequeue");
}

bool KeepsValues(const SeenNode& node) {
  static const std::set<std::string_view> kOps = {"Identity", "ExpandDims",   "Reshape",
                                                  "Squeeze",  "StopGradient", "EnsureShape"};
  return kOps.contains(node.op);
}

class FormulaWriter {
 public:
  explicit FormulaWriter(const SeenGraph& graph) : graph_(graph) {}

  MigratedFormula Run(const std::string& tensor) {
    found_.text = Written(tensor, kMostOps);
    if (found_.text.size() > kLongest && found_.obstacle == nullptr) {
      found_.obstacle = graph_.Find(tensor);
    }
    const bool wraps = found_.text.starts_with('(') && found_.text.ends_with(')');
    if (wraps && Closes(found_.text)) found_.text = found_.text.substr(1, found_.text.size() - 2);
    return found_;
  }

 private:
  std::string Stop(const SeenNode* node) {
    if (found_.obstacle == nullptr) found_.obstacle = node;
    return "";
  }

  // True if the first bracket is that of the last.
  [[nodiscard]] static bool Closes(const std::string& text) {
    int open = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (open == 0) return false;
    }
    return true;
  }

  std::string Written(const std::string& tensor, int left) {
    const SeenNode* const node = graph_.Find(tensor);
    if (node == nullptr || left == 0) return Stop(node);
    if (IsSource(*node)) {
      if (!found_.source.empty() && found_.source != tensor) return Stop(node);
      found_.source = tensor;
      return "x";
    }
    if (node->op == "Const") return Constant(*node);
    if (node->inputs.empty()) return Stop(node);
    if (KeepsValues(*node)) return Written(node->inputs[0], left - 1);
    if (node->op == "Cast") return Cast(*node, left);
    std::vector<std::string> arguments;
    for (const std::string& input : node->inputs) {
      if (input.starts_with('^')) continue;
      arguments.push_back(Written(input, left - 1));
      if (found_.obstacle != nullptr) return "";
    }
    if (node->op == "Neg") return "(-" + arguments[0] + ")";
    if (IsChoice(*node) && arguments.size() == 3) return "where(" + Join(arguments, ", ") + ")";
    if (const char* const sign = SignOf(node->op); sign != nullptr && arguments.size() == 2) {
      return fmt::format("({} {} {})", arguments[0], sign, arguments[1]);
    }
    const char* const function = FunctionOf(node->op);
    if (function == nullptr) return Stop(node);
    return fmt::format("{}({})", function, Join(arguments, ", "));
  }

  [[nodiscard]] static bool IsChoice(const SeenNode& node) {
    return node.op == "Select" || node.op == "SelectV2";
  }

  // A column's numbers are float32 here from the start; whatever else they become is no formula.
  std::string Cast(const SeenNode& node, int left) {
    const auto to = node.ints.find("DstT");
    if (to == node.ints.end() || to->second != kFloatType) return Stop(&node);
    return Written(node.inputs[0], left - 1);
  }

  std::string Constant(const SeenNode& node) {
    const bool is_number = node.value && node.value->dtype() != DType::kString &&
                           node.value->elements() > 0 && node.value->elements() <= kMostNumbers &&
                           node.value->shape().rank() <= 1;
    if (!is_number) return Stop(&node);
    std::vector<std::string> words;
    for (int64_t i = 0; i < node.value->elements(); ++i) {
      const double number = node.value->AsDouble(i);
      std::string text = node.value->dtype() == DType::kFloat
                             ? NumberText(static_cast<float>(number))
                             : NumberText(number);
      words.push_back(number < 0 ? "(" + text + ")" : text);
    }
    return node.value->shape().rank() == 0 ? words[0] : "[" + Join(words, ", ") + "]";
  }

  const SeenGraph& graph_;
  MigratedFormula found_;
};

}  // namespace

MigratedFormula FindFormula(const SeenGraph& graph, const std::string& tensor) {
  return FormulaWriter(graph).Run(tensor);
}

}  // namespace tpuest::cli
