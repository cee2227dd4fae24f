#include "data/examples/column_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "data/examples/list_padding.h"
#include "data/examples/map_nodes.h"

namespace tpuest::data {
namespace {

// The columns that exist at one point of the pipeline. Each map step replaces or adds a column;
// columns with a common beginning are separate chains, and each chain runs all of its steps.
using Table = std::map<std::string, ColumnPlan>;

size_t WidthOf(DType dtype) {
  return dtype == DType::kString ? sizeof(std::string_view) : SizeOf(dtype);
}

const ColumnPlan& Find(const Table& table, const std::string& name, const std::string& key) {
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, column] : table) names.push_back(known);
  const std::optional<std::string> nearest = Nearest(name, names);
  throw Error(Code::kUsage,
              fmt::format("no column is named '{}'; there are {}", name, Join(names, ", ")),
              nearest ? fmt::format("did you mean '{}'?", *nearest) : std::string())
      .Key(key);
}

// An op on images after a reshape must know the new sizes.
std::shared_ptr<const ImageOp> Reshaped(const Shape& shape) {
  class ReshapedOp final : public ImageOp {
   public:
    explicit ReshapedOp(const Shape& shape) : shape_(shape) {}
    void Run(Picture& picture, const RecordKey& /*record*/,
             PictureScratch& /*scratch*/) const override {
      picture.Become(picture.dtype, shape_.dim(0), shape_.dim(1), shape_.dim(2));
    }

   private:
    Shape shape_;
  };
  return std::make_shared<ReshapedOp>(shape);
}

// Adds an op's step to the end of the column's chain, whose spec becomes the op's.
void Append(MappedColumn& mapped, ColumnPlan& column) {
  if (mapped.decoder) column.decoder = mapped.decoder;
  if (mapped.image) {
    if (column.images.empty()) column.image_input = column.spec;
    column.images.push_back({std::move(mapped.image), {}, mapped.spec.dtype});
    return;
  }
  const bool is_image = !column.images.empty();
  // A step that only renames or reshapes computes nothing, so it needs no stage.
  if (!mapped.step) {
    if (is_image && mapped.spec.shape.rank() == 3) {
      column.images.push_back({Reshaped(mapped.spec.shape), {}, mapped.spec.dtype});
    }
    return;
  }
  ColumnPlan::Stage stage{std::move(mapped.step), WidthOf(mapped.spec.dtype)};
  if (is_image) {
    column.images.push_back({nullptr, std::move(stage), mapped.spec.dtype});
  } else {
    column.stages.push_back(std::move(stage));
  }
}

// All images of a batch must have the same size.
void CheckSizes(const ColumnPlan& column) {
  if (column.images.empty() || column.spec.shape.fully_known()) return;
  const bool channels = column.spec.shape.rank() == 3 && column.spec.shape.dim(2) == kUnknownDim;
  throw Error(Code::kUsage,
              fmt::format("\"{}\" is {}: images of a batch need one size", column.spec.name,
                          column.spec.shape.Text()),
              channels ? "decode with channels: 3, and put a resize after it"
                       : "put a resize, random_crop or resize_with_crop_or_pad after it")
      .Key(column.spec.key);
}

// The columns after each op, and the graph of the columns that formulas compute.
class ColumnTable {
 public:
  ColumnTable(const std::vector<TensorSpec>& columns, const std::string& key) {
    for (size_t i = 0; i < columns.size(); ++i) {
      ColumnPlan column;
      column.spec = columns[i];
      // Errors about a column name the key of its origin: the source, parse_example or a map step.
      if (column.spec.key.empty()) column.spec.key = key + ".source";
      column.input = i;
      column.input_name = columns[i].name;
      column.input_dtype = columns[i].dtype;
      table_[columns[i].name] = std::move(column);
    }
  }

  // Applies the map ops and the window of the input_fn, or of the stages before number `end`.
  void ApplyAll(const InputFnOptions& options, const std::string& key,
                std::optional<size_t> end = std::nullopt) {
    const auto stages = std::span(options.stages).first(end.value_or(options.stages.size()));
    const auto window = std::find_if(stages.begin(), stages.end(),
                                     [](const StageOptions& stage) { return stage.window; });
    const auto before = static_cast<size_t>(window - stages.begin());
    const std::vector<KeyedMap> ops = MapOf(options, end);
    // The map ops before the window come first.
    const size_t of_records = MapOf(options, before).size();
    ApplyOps(std::span(ops).first(of_records), key);
    if (window == stages.end()) return;
    Stack(*window->window);
    if (!options.stages.empty() && options.stages.back().padded_batch) {
      window_padding_ = &*options.stages.back().padded_batch;
      window_padding_key_ =
          fmt::format("{}.stages[{}].padded_batch", key, options.stages.size() - 1);
    }
    ApplyOps(std::span(ops).subspan(of_records), key);
  }

  void ApplyOps(std::span<const KeyedMap> ops, const std::string& key) {
    for (const KeyedMap& keyed : ops) {
      const std::string_view kind = OpName(*keyed.op);
      const std::string name = fmt::format("{}.{}.{}", key, kind, seen_[kind]++);
      const std::string op_key = fmt::format("{}.{}", key, keyed.key);
      if (const auto* const expr = std::get_if<ExprMap>(keyed.op)) {
        Store(*expr->out, op_key, Computed(expr->value, op_key));
      } else {
        Apply(*keyed.op, op_key, name);
      }
    }
  }

  // The column that a formula computes.
  [[nodiscard]] ColumnPlan Computed(const Formula& formula, const std::string& key) {
    if (!graph_) graph_ = std::make_shared<ColumnGraph>();
    std::map<std::string, Value> columns;
    ColumnPlan column;
    for (const std::string& name : ColumnsIn(formula, Names())) {
      const ColumnPlan& read = At(name, key);
      columns[name] = ValueOf(read, key);
      column.is_drawn = column.is_drawn || read.is_drawn;
    }
    column.computed = ops::Identity(FormulaNodes(graph_->graph, formula, columns));
    column.spec = SpecOf(column.computed);
    if (!column.spec.shape.fully_known()) {
      throw Error(Code::kUsage,
                  fmt::format("the formula gives {} {}: the size of a column is known "
                              "before records are read",
                              NameOf(column.spec.dtype), column.spec.shape.Text()))
          .At(formula.place);
    }
    return column;
  }

  [[nodiscard]] const ColumnPlan& At(const std::string& name, const std::string& key) {
    const ColumnPlan& column = Find(table_, name, key);
    if (unstacked_.erase(name) > 0) table_[name] = Stacked(column, key);
    return table_.at(name);
  }
  [[nodiscard]] int64_t window() const { return window_; }
  [[nodiscard]] const Table& columns() const { return table_; }
  [[nodiscard]] std::shared_ptr<ColumnGraph> graph() const { return graph_; }

 private:
  [[nodiscard]] std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& [name, column] : table_) names.insert(name);
    return names;
  }

  void Store(const std::string& name, const std::string& key, ColumnPlan column) {
    column.spec.name = name;
    column.spec.key = key;
    table_[name] = std::move(column);
    unstacked_.erase(name);
  }

  // From now on each column contains all examples of a window, stacked; columns are stacked when
  // they are read.
  void Stack(const WindowOptions& window) {
    window_ = window.size;
    has_short_windows_ = !window.drop_remainder;
    unstacked_ = Names();
  }

  // Reshapes [rows * window, ...] to [rows, window, ...] and pads short windows.
  [[nodiscard]] ColumnPlan Stacked(const ColumnPlan& read, const std::string& key) {
    if (!graph_) graph_ = std::make_shared<ColumnGraph>();
    ColumnPlan column;
    column.is_drawn = read.is_drawn;
    column.spec = read.spec;
    Value value = ValueOf(read, key);
    if (has_short_windows_) value = FilledUp(value, read.spec);
    std::vector<int64_t> dims = {kUnknownDim, window_};
    dims.insert(dims.end(), read.spec.shape.dims().begin(), read.spec.shape.dims().end());
    column.computed = ops::Reshape(value, Shape(dims));
    column.spec.shape = Shape({dims.begin() + 1, dims.end()});
    return column;
  }

  [[nodiscard]] Value FilledUp(Value value, const TensorSpec& column) {
    Graph& graph = graph_->graph;
    if (!graph_->window_places.valid()) {
      graph_->window_places = graph.Placeholder(DType::kBool, Shape({kUnknownDim}), "window");
    }
    std::vector<int64_t> dims = {kUnknownDim};
    dims.resize(column.shape.dims().size() + 1, 1);
    const Value is_own = ops::Reshape(graph_->window_places, Shape(dims));
    const Tensor filler = PaddingValueOf(*window_padding_, column, window_padding_key_);
    return ops::SelectV2(is_own, value, graph.Constant(filler));
  }

  // Appends an op to the chain of column `in` and stores the result as `out`. `name` is the op's
  // own.
  void Apply(const MapOptions& op, const std::string& key, const std::string& name) {
    const MapColumns& names = ColumnsOf(op);
    ColumnPlan column = At(names.in, key + ".in");
    MappedColumn mapped = ResolveMap(op, column.spec, key, name);
    column.is_drawn = column.is_drawn || IsRandom(op);
    if (column.computed.valid()) {
      if (mapped.image) {
        throw Error(Code::kUsage, fmt::format("{} of \"{}\": put ops on images before formulas",
                                              OpName(op), names.in))
            .Key(key);
      }
      column.computed = MapNodes(op, column.spec, column.computed);
    } else {
      Append(mapped, column);
    }
    column.spec = std::move(mapped.spec);
    Store(names.out.value_or(names.in), key, std::move(column));
  }

  // A column in the graph: the result of a formula, or a placeholder for a column that is read, the
  // same for every use.
  [[nodiscard]] Value ValueOf(const ColumnPlan& column, const std::string& key) {
    if (column.computed.valid()) return column.computed;
    if (column.is_list()) {
      throw Error(Code::kUsage,
                  fmt::format("\"{}\" is lists of any length, which formulas do not take",
                              column.spec.name),
                  "a FixedLenFeature has a size")
          .Key(key);
    }
    CheckSizes(column);
    for (size_t i = 0; i < graph_->inputs.size(); ++i) {
      const TensorSpec& known = graph_->inputs[i].spec;
      if (known.name == column.spec.name && known.key == column.spec.key) {
        return graph_->placeholders[i];
      }
    }
    graph_->inputs.push_back(column);
    graph_->placeholders.push_back(ColumnPlaceholder(graph_->graph, column.spec));
    return graph_->placeholders.back();
  }

  Table table_;
  std::shared_ptr<ColumnGraph> graph_;
  std::map<std::string_view, int> seen_;  // number of ops by type
  int64_t window_ = 1;
  bool has_short_windows_ = false;
  const PaddingOptions* window_padding_ = nullptr;  // padding of windows, if they may be short
  std::string window_padding_key_;
  std::set<std::string> unstacked_;  // columns whose windows no op has read yet
};

std::vector<std::string> FeatureNames(const InputFnOptions& options, const Table& table,
                                      const std::string& key) {
  std::vector<std::string> names = options.features;
  if (names.empty()) {
    std::set<std::string> others;
    for (const auto& [head, column] : LabelsOf(options)) others.insert(column);
    if (options.id) others.insert(*options.id);
    for (const auto& [name, column] : table) {
      if (!others.contains(name)) names.push_back(name);
    }
  }
  // TensorFlow flattens a dict of features in the order of their names.
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw Error(Code::kUsage, fmt::format("'{}' is listed twice", *twice)).Key(key + ".features");
  }
  if (names.empty()) {
    throw Error(Code::kUsage, "no column is left for the features").Key(key + ".features");
  }
  return names;
}

void PadLists(const InputFnOptions& options, const std::string& key, const Table& table,
              InputPlan& plan) {
  const ListPadder padder(options, key);
  std::set<std::string> lists;
  std::set<std::string> names;
  for (const auto& [name, column] : table) {
    names.insert(name);
    if (column.is_list()) lists.insert(name);
  }
  padder.CheckNames(lists, names);
  for (ColumnPlan& column : plan.features) padder.Pad(column);
  plan.labels = plan.labels.Map([&](const std::string& /*head*/, ColumnPlan column) {
    padder.Pad(column);
    return column;
  });
}

}  // namespace

StreamSpec InputPlan::spec() const {
  StreamSpec spec{.batch_first = true, .forwards = !forwarded.empty()};
  for (const ColumnPlan& column : features) {
    spec.features.push_back(column.spec);
    if (column.is_list()) spec.lists.push_back(column.spec.name);
  }
  spec.labels = labels.Map([](const ColumnPlan& column) { return column.spec; });
  return spec;
}

nn::Labels<std::string> LabelsOf(const InputFnOptions& options) {
  if (options.labels) {
    if (const auto* const column = std::get_if<std::string>(&*options.labels)) return *column;
    return nn::Labels<std::string>(std::get<LabelColumns>(*options.labels));
  }
  const auto* const libsvm = std::get_if<LibsvmSource>(&options.source);
  if (libsvm != nullptr && libsvm->names_label) return std::string("label");
  const auto* const csv = std::get_if<CsvSource>(&options.source);
  return csv == nullptr || !csv->label_name ? nn::Labels<std::string>() : *csv->label_name;
}

InputPlan PlanFilter(const InputFnOptions& options, const std::vector<TensorSpec>& columns,
                     const std::string& key, std::optional<size_t> stage) {
  ColumnTable table(columns, key);
  table.ApplyAll(options, key, stage);
  Formula formula = options.filter;
  std::string filter_key = key + ".filter";
  if (stage) {
    const StageOptions& o = options.stages[*stage];
    formula = o.filter.empty() ? o.take_while : o.filter;
    filter_key = fmt::format("{}.stages[{}]", key, *stage);
  }
  ColumnPlan keeps = table.Computed(formula, filter_key);
  keeps.spec.name = "filter";
  keeps.spec.key = filter_key;
  const auto refuse = [&](const std::string& message) {
    throw Error(Code::kUsage, message).At(formula.place);
  };
  if (keeps.spec.dtype != DType::kBool || keeps.spec.shape.rank() != 0) {
    refuse(fmt::format("a filter is one truth an example, and this is {} {}",
                       NameOf(keeps.spec.dtype), keeps.spec.shape.Text()));
  }
  if (keeps.is_drawn) refuse("a filter cannot depend on random map ops, which change every epoch");
  InputPlan plan;
  plan.graph = table.graph();
  plan.features.push_back(std::move(keeps));
  return plan;
}

InputPlan PlanLengths(const InputFnOptions& options, const std::vector<TensorSpec>& columns,
                      const std::string& key, size_t stage) {
  ColumnTable table(columns, key);
  table.ApplyAll(options, key, stage);
  const Formula& formula = options.stages[stage].bucket_by_sequence_length->element_length_func;
  const std::string place =
      fmt::format("{}.stages[{}].bucket_by_sequence_length.element_length_func", key, stage);
  InputPlan plan;
  const auto list = table.columns().find(formula.text);
  if (list != table.columns().end() && list->second.is_list()) {
    plan.features.push_back(list->second);
    return plan;
  }
  ColumnPlan length = table.Computed(formula, place);
  length.spec.name = "length";
  length.spec.key = place;
  const auto refuse = [&](const std::string& message) {
    throw Error(Code::kUsage, message).At(formula.place);
  };
  if (!IsInteger(length.spec.dtype) || length.spec.shape.rank() != 0) {
    refuse(fmt::format("a length is one whole number an example, and this is {} {}",
                       NameOf(length.spec.dtype), length.spec.shape.Text()));
  }
  if (length.is_drawn) refuse("a length cannot depend on random map ops, which change every epoch");
  plan.graph = table.graph();
  plan.features.push_back(std::move(length));
  return plan;
}

// A column that is passed on to the predictions must be read. A name that resembles one of these is
// reported like any unknown column.
void CheckForwarded(const Table& columns, const InputFnOptions& options, const std::string& name,
                    const std::string& key) {
  const auto* const csv = std::get_if<CsvSource>(&options.source);
  std::vector<std::string> names;
  for (const auto& [known, column] : columns) names.push_back(known);
  const bool may_be_in_file = csv != nullptr && csv->select_columns && !Nearest(name, names);
  if (columns.contains(name) || !may_be_in_file) return;
  throw Error(Code::kUsage,
              fmt::format("no column is named '{}' in select_columns of {}", name, key),
              "name it there; --input FILE reads it in any case")
      .Key("predict.forward_features");
}

InputPlan PlanColumns(const InputFnOptions& options, const std::vector<TensorSpec>& columns,
                      const std::string& key) {
  ColumnTable table(columns, key);
  table.ApplyAll(options, key);
  InputPlan plan{.window = table.window()};
  for (const std::string& name : FeatureNames(options, table.columns(), key)) {
    plan.features.push_back(table.At(name, key + ".features"));
  }
  plan.labels = LabelsOf(options).Map([&](const std::string& head, const std::string& column) {
    return table.At(column, key + ".labels" + (head.empty() ? "" : "." + head));
  });
  if (options.id) plan.forwarded.push_back(table.At(*options.id, key + ".id"));
  for (const std::string& name : options.forwarded) {
    if (name == options.id) continue;
    CheckForwarded(table.columns(), options, name, key);
    const std::string forward_key = "predict.forward_features";
    plan.forwarded.push_back(table.At(name, forward_key));
    if (!plan.forwarded.back().is_list()) continue;
    throw Error(Code::kUsage, fmt::format("\"{}\" is lists of any length, which are not carried "
                                          "along",
                                          name))
        .Key(forward_key);
  }
  PadLists(options, key, table.columns(), plan);
  for (const ColumnPlan& column : plan.features) CheckSizes(column);
  for (const auto& [head, column] : plan.labels) CheckSizes(column);
  for (const ColumnPlan& column : plan.forwarded) CheckSizes(column);
  plan.graph = table.graph();
  return plan;
}

}  // namespace tpuest::data
