#include "data/examples/column_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"

namespace tpuest {
namespace {

// The columns that exist at one point of the pipeline. Each map step replaces or adds one; a column
// that shares its beginning with another is a chain of its own, run for itself.
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

// An op on images that reads what a reshape made has to know the new sizes.
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

// Puts what an op does at the end of the column's chain; before its spec is the op's.
void Append(MappedColumn& mapped, ColumnPlan& column) {
  if (mapped.decoder) column.decoder = mapped.decoder;
  if (mapped.image) {
    if (column.images.empty()) column.image_input = column.spec;
    column.images.push_back({std::move(mapped.image), {}, mapped.spec.dtype});
    return;
  }
  const bool is_image = !column.images.empty();
  // A step that only renames or reshapes runs nothing, hence no stage.
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

// Lengthens the chain of column `in` and stores it as `out`. `name` is the op's own.
void Apply(const MapOptions& op, const std::string& key, const std::string& name, Table& table) {
  const MapColumns& names = ColumnsOf(op);
  ColumnPlan column = Find(table, names.in, key + ".in");
  MappedColumn mapped = ResolveMap(op, column.spec, key, name);
  Append(mapped, column);
  column.spec = std::move(mapped.spec);
  const std::string& out = names.out.value_or(names.in);
  column.spec.name = out;
  column.spec.key = key;
  table[out] = std::move(column);
}

// Images of a batch have one size.
void CheckSizes(const ColumnPlan& column) {
  if (column.images.empty() || column.spec.shape.fully_known()) return;
  const bool channels = column.spec.shape.rank() == 3 && column.spec.shape.dim(2) == kUnknownDim;
  throw Error(Code::kUsage,
              fmt::format("\"{}\" is {}: images of a batch need one size", column.spec.name,
                          column.spec.shape.Text()),
              channels ? "decode with channels: 3, and put a resize behind it"
                       : "put a resize, random_crop or resize_with_crop_or_pad behind it")
      .Key(column.spec.key);
}

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
  // TensorFlow flattens a dict of features by name.
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

}  // namespace

StreamSpec InputPlan::spec() const {
  StreamSpec spec{.batch_first = true};
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
  const auto* const csv = std::get_if<CsvSource>(&options.source);
  return csv == nullptr || !csv->label_name ? nn::Labels<std::string>() : *csv->label_name;
}

InputPlan PlanColumns(const InputFnOptions& options, const std::vector<TensorSpec>& columns,
                      const std::string& key) {
  Table table;
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnPlan column;
    column.spec = columns[i];
    // Errors about a column name the key that made it: the source, parse_example or a map step.
    if (column.spec.key.empty()) column.spec.key = key + ".source";
    column.input = i;
    column.input_name = columns[i].name;
    column.input_dtype = columns[i].dtype;
    table[columns[i].name] = std::move(column);
  }
  std::map<std::string_view, int> seen;  // ops of each kind
  for (size_t i = 0; i < options.map.size(); ++i) {
    const std::string_view kind = OpName(options.map[i]);
    const std::string name = fmt::format("{}.{}.{}", key, kind, seen[kind]++);
    Apply(options.map[i], fmt::format("{}.map[{}]", key, i), name, table);
  }
  InputPlan plan;
  for (const std::string& name : FeatureNames(options, table, key)) {
    plan.features.push_back(Find(table, name, key + ".features"));
  }
  plan.labels = LabelsOf(options).Map([&](const std::string& head, const std::string& column) {
    return Find(table, column, key + ".labels" + (head.empty() ? "" : "." + head));
  });
  if (options.id) plan.id = Find(table, *options.id, key + ".id");
  for (const ColumnPlan& column : plan.features) CheckSizes(column);
  for (const auto& [head, column] : plan.labels) CheckSizes(column);
  return plan;
}

}  // namespace tpuest
