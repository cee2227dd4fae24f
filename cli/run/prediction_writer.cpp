#include "cli/run/prediction_writer.h"

#include "cli/shell/json.h"
#include "core/base/text.h"
#include "core/io/examples/example.h"
#include "core/io/tfrecord.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kAllClasses = "all_classes";
constexpr std::string_view kAllClassIds = "all_class_ids";

// Returns the columns of a row by name: its predictions and forwarded features.
std::map<std::string, Tensor> Columns(const PredictionRow& row) {
  std::map<std::string, Tensor> columns = row.values;
  for (const auto& [name, column] : row.forwarded) {
    if (columns.try_emplace(name, column).second) continue;
    throw Error(Code::kUsage,
                fmt::format("'{}' names both a prediction and a column of the input", name),
                "predict_keys can leave the prediction out; a map op can give the column another "
                "name")
        .Key("predict.forward_features");
  }
  return columns;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvElement(const Json& value) {
  if (value.is_null()) return "";
  return CsvField(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string CsvLine(const std::map<std::string, Tensor>& columns) {
  std::string text;
  bool first = true;
  for (const auto& [name, tensor] : columns) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (!first) text += ",";
      first = false;
      text += CsvElement(JsonOf(tensor.Reshaped({tensor.elements(), 1}).Rows(i, i + 1))[0][0]);
    }
  }
  return text + "\n";
}

// Returns the name of the list of all classes of the head that made a prediction: "all_classes" for
// "probabilities", "species/all_classes" for "species/probabilities".
std::string ListNameFor(const std::string& prediction, std::string_view list) {
  const size_t slash = prediction.rfind('/');
  return slash == std::string::npos ? std::string(list)
                                    : prediction.substr(0, slash + 1) + std::string(list);
}

bool IsListOfAll(const std::string& name) {
  return name == ListNameFor(name, kAllClasses) || name == ListNameFor(name, kAllClassIds);
}

// Returns the CSV column names of a tensor's elements.
std::vector<std::string> ElementNames(const PredictionRow& row, const std::string& name,
                                      const Tensor& tensor) {
  if (tensor.elements() == 1) return {name};
  std::vector<std::string> names;
  const auto classes = row.values.find(ListNameFor(name, kAllClasses));
  const bool has_classes = classes != row.values.end() && row.values.contains(name) &&
                           classes->second.dtype() == DType::kString &&
                           classes->second.elements() == tensor.elements();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    names.push_back(
        has_classes ? fmt::format("{}/{}", name, classes->second.strings()[static_cast<size_t>(i)])
                    : fmt::format("{}/{}", name, i));
  }
  return names;
}

// Returns a tf.Example of a row: floats as float features, integers and booleans as int64 features,
// strings as bytes.
std::string RecordOf(const std::map<std::string, Tensor>& columns) {
  ExampleWriter example;
  for (const auto& [name, tensor] : columns) {
    const auto size = static_cast<size_t>(tensor.elements());
    if (tensor.dtype() == DType::kString) {
      example.Bytes(name, tensor.strings());
    } else if (IsFloating(tensor.dtype())) {
      const Tensor floats = tensor.Cast(DType::kFloat);
      example.Floats(name, {floats.data<float>(), size});
    } else {
      const Tensor numbers = tensor.Cast(DType::kInt64);
      example.Ints(name, {numbers.data<int64_t>(), size});
    }
  }
  std::string record;
  AppendRecord(record, example.Finish());
  return record;
}

}  // namespace

PredictionWriter::PredictionWriter(const std::string& path, const std::string& format,
                                   bool asked_for)
    : format_(format), asked_for_(asked_for) {
  if (format != "csv" && format != "jsonl" && format != "tfrecord") {
    throw Error(Code::kUsage, fmt::format("'{}' is not a format of predictions", format),
                "expected jsonl, csv or tfrecord")
        .Key("predict.output.format");
  }
  if (path == "-") return;
  if (const std::string folder = DirName(path); !folder.empty()) MakeDirectories(folder);
  file_ = std::make_unique<AtomicFile>(path);
}

bool PredictionWriter::Append(const std::string& text) {
  if (file_) {
    file_->Append(text);
    return true;
  }
  return WriteStdout(text);
}

std::map<std::string, Tensor> PredictionWriter::CsvColumns(const PredictionRow& row) const {
  std::map<std::string, Tensor> columns = Columns(row);
  if (asked_for_) return columns;
  std::erase_if(columns, [&](const auto& column) {
    return IsListOfAll(column.first) && row.values.contains(column.first);
  });
  return columns;
}

std::string PredictionWriter::CsvHeader(const PredictionRow& row) const {
  std::vector<std::string> header;
  for (const auto& [name, tensor] : CsvColumns(row)) {
    for (const std::string& element : ElementNames(row, name, tensor)) {
      header.push_back(CsvField(element));
    }
  }
  return Join(header, ",") + "\n";
}

bool PredictionWriter::Write(const PredictionRow& row) {
  std::string text;
  if (format_ == "tfrecord") {
    text = RecordOf(Columns(row));
  } else if (format_ == "csv") {
    if (!started_) text = CsvHeader(row);
    text += CsvLine(CsvColumns(row));
  } else {
    Json object = Json::object();
    for (const auto& [name, tensor] : Columns(row)) object[name] = JsonOf(tensor);
    text = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  started_ = true;
  return Append(text);
}

void PredictionWriter::Close() {
  if (file_) file_->Commit();
}

}  // namespace tpuest::cli
