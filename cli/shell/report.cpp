#include "cli/shell/report.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/shell/json.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

Json JsonElement(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kString:
      return std::string(tensor.strings()[static_cast<size_t>(i)]);
    case DType::kBool:
      return tensor.data<bool>()[i];
    case DType::kFloat:
      return JsonNumber(tensor.data<float>()[i]);
    case DType::kBfloat16:
      return JsonNumber(static_cast<float>(tensor.data<bfloat16>()[i]));
    case DType::kDouble: {
      const double value = tensor.data<double>()[i];
      return std::isfinite(value) ? Json(value) : Json();
    }
    default:
      return tensor.Cast(DType::kInt64).data<int64_t>()[i];
  }
}

Json JsonRange(const Tensor& tensor, int axis, int64_t& next) {
  if (axis == tensor.shape().rank()) return JsonElement(tensor, next++);
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape().dim(axis); ++i) {
    list.push_back(JsonRange(tensor, axis + 1, next));
  }
  return list;
}

Json FaultJson(Code code, const Fault& fault) {
  Json json = {{"code", static_cast<int>(code)}, {"message", fault.message}};
  if (!fault.place.file.empty()) json["file"] = fault.place.file;
  if (fault.place.line > 0) {
    json["line"] = fault.place.line;
    json["column"] = fault.place.column;
  }
  if (!fault.key.empty()) json["key"] = fault.key;
  if (!fault.hint.empty()) json["hint"] = fault.hint;
  return json;
}

std::string LineOf(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Json JsonNumber(float value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(NumberText(value).c_str(), nullptr);
}

Json JsonOf(const Tensor& tensor) {
  int64_t next = 0;
  return JsonRange(tensor, 0, next);
}

void PrintDocument(std::string_view command, const Json& fields) {
  Json document = {{"schema", fmt::format("tpuest.{}/1", command)}};
  document.update(fields);
  (void)WriteStdout(LineOf(document));
}

bool FlushStdout() {
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  const int number = errno;
  if (is_written) return true;
  std::clearerr(stdout);
  if (number == EPIPE) return false;
  throw Error(Code::kResource,
              number == 0 ? "stdout: cannot write"
                          : fmt::format("stdout: cannot write: {}", std::strerror(number)));
}

bool WriteStdout(std::string_view text) {
  while (!text.empty()) {
    NeedReady(STDOUT_FILENO, For::kWriting, "stdout");
    const std::string_view piece = text.substr(0, kReadyBytes);
    errno = 0;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    if (!FlushStdout()) return false;
    text.remove_prefix(piece.size());
  }
  return true;
}

std::string ErrorLines(Code code, const std::vector<Fault>& faults, const std::string& time) {
  std::string lines;
  for (const Fault& fault : faults) {
    Json document = {{"time", time}, {"level", "error"}, {"event", "error"}};
    document.update(FaultJson(code, fault));
    lines += LineOf(document);
  }
  return lines;
}

void PrintError(Code code, const std::vector<Fault>& faults) {
  Json document = {{"error", FaultJson(code, faults.front())}};
  if (faults.size() > 1) {
    for (const Fault& fault : faults) document["faults"].push_back(FaultJson(code, fault));
  }
  // A failing stdout is passed over: stderr still has the error.
  fmt::print("{}", LineOf(document));
  std::fflush(stdout);
}

}  // namespace tpuest::cli
