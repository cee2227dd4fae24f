#include "core/base/text/text_pattern.h"
#include "core/ops/shape_rules.h"
#include "core/ops/texts.h"

namespace tpuest::ops {

Value RegexReplace(Value x, std::string_view pattern, std::string_view rewrite, bool all,
                   std::string_view name) {
  return x.graph().Add("StaticRegexReplace", {x},
                       {{"pattern", std::string(pattern)},
                        {"rewrite", std::string(rewrite)},
                        {"replace_global", all}},
                       name);
}

Value RegexFullMatch(Value x, std::string_view pattern, std::string_view name) {
  return x.graph().Add("StaticRegexFullMatch", {x}, {{"pattern", std::string(pattern)}}, name);
}

namespace {

void RegexShape(ShapeContext& context) {
  const Node& node = context.node();
  const TextPattern pattern(node.Attr<std::string>("pattern"));
  if (node.HasAttr("rewrite")) pattern.CheckRewrite(node.Attr<std::string>("rewrite"));
  FirstInputShape(context);
}

void PlanRegexReplace(PlanContext& context) {
  const TextPattern pattern(context.Attr<std::string>("pattern"));
  const auto rewrite = context.Attr<std::string>("rewrite");
  const bool all = context.Attr<bool>("replace_global");
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view text = task.At<std::string_view>(x)[i];
      task.At<std::string_view>(y)[i] = task.Keep(pattern.Replaced(text, rewrite, all));
    }
  });
}

void PlanRegexFullMatch(PlanContext& context) {
  const TextPattern pattern(context.Attr<std::string>("pattern"));
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < n; ++i) {
      task.At<bool>(y)[i] = pattern.Matches(task.At<std::string_view>(x)[i]);
    }
  });
}

const OpDef kRegexOps[] = {
    {.name = "StaticRegexReplace",
     .signature = "input: string -> output: string; pattern: string; rewrite: string; "
                  "replace_global: bool = true",
     .shape = RegexShape,
     .grad = NoGradient,
     .cpu = PlanRegexReplace,
     .host = true},
    {.name = "StaticRegexFullMatch",
     .signature = "input: string -> output: bool; pattern: string",
     .shape = RegexShape,
     .grad = NoGradient,
     .cpu = PlanRegexFullMatch,
     .host = true},
};

}  // namespace

OpFamily RegexOps() { return kRegexOps; }

}  // namespace tpuest::ops
