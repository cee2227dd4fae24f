#include "cli/run/prediction_writer.h"

#include "cli/shell/json.h"

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

}  // namespace

PredictionWriter::PredictionWriter(const std::string& path, const std::string& format)
    : csv_(format == "csv") {
  if (format != "csv" && format != "jsonl") {
    throw Error(Code::kUsage, fmt::format("there is no format '{}'", format), "jsonl or csv")
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
  if (csv_) {
    if (!started_) text = CsvHeader(row);
    bool first = true;
    for (const auto& [name, tensor] : Columns(row)) {
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        if (!first) text += ",";
        first = false;
        text += CsvElement(JsonOf(tensor.Reshaped({tensor.elements(), 1}).Rows(i, i + 1))[0][0]);
      }
    }
    text += "\n";
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
