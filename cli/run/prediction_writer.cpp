#include "cli/run/prediction_writer.h"

#include "cli/shell/json.h"
#include "core/io/example.h"
#include "core/io/tfrecord.h"

namespace tpuest::cli {
namespace {

// The columns of a row by name: predictions and forwarded features together.
std::map<std::string, Tensor> Columns(const PredictionRow& row) {
  std::map<std::string, Tensor> columns = row.values;
  for (const auto& [name, column] : row.forwarded) {
    if (columns.try_emplace(name, column).second) continue;
    throw Error(Code::kUsage, fmt::format("'{}' is a prediction and a column of the input", name),
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

// A record of a TFRecord file: floats, whole numbers and truths, and strings as features.
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

PredictionWriter::PredictionWriter(const std::string& path, const std::string& format)
    : format_(format) {
  if (format != "csv" && format != "jsonl" && format != "tfrecord") {
    throw Error(Code::kUsage, fmt::format("there is no format '{}'", format),
                "jsonl, csv or tfrecord")
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

std::string PredictionWriter::CsvHeader(const PredictionRow& row) const {
  std::string header;
  for (const auto& [name, tensor] : Columns(row)) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      if (!header.empty()) header += ",";
      header += CsvField(tensor.shape().rank() == 0 ? name : fmt::format("{}/{}", name, i));
    }
  }
  return header + "\n";
}

bool PredictionWriter::Write(const PredictionRow& row) {
  std::string text;
  if (format_ == "tfrecord") {
    text = RecordOf(Columns(row));
  } else if (format_ == "csv") {
    if (!started_) text = CsvHeader(row);
    text += CsvLine(Columns(row));
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
