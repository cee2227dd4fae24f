#include "cli/look/inspect/records.h"

#include <algorithm>
#include <cctype>

#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/record_check.h"
#include "core/io/tfrecord.h"
#include "data/examples/example_guess.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kGuessedFrom = 1000;  // records at the front that tell parse_example
constexpr size_t kShownValues = 8;      // so much of a list is in the text; --json has all
constexpr size_t kShownBytes = 32;      // so much of a string is in the text and in --json

std::string_view NameOf(Compression compression) {
  if (compression == Compression::kNone) return "";
  return compression == Compression::kGzip ? "GZIP" : "ZLIB";
}

bool IsText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7F;
  });
}

// A string of a record: text as it is; other bytes, or many, by their number and the first of them.
Json BytesJson(std::string_view bytes) {
  if (bytes.size() <= kShownBytes && IsText(bytes)) return std::string(bytes);
  std::string hex;
  for (const char c : bytes.substr(0, kShownBytes)) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return {{"bytes", bytes.size()}, {"hex", hex}};
}

Json ValuesJson(const FeatureView& feature) {
  Json values = Json::array();
  switch (feature.kind) {
    case FeatureKind::kBytes: {
      std::vector<std::string_view> strings(feature.count);
      feature.CopyBytes(strings);
      for (const std::string_view text : strings) values.push_back(BytesJson(text));
      break;
    }
    case FeatureKind::kFloat: {
      std::vector<float> floats(feature.count);
      feature.CopyFloats(floats);
      for (const float value : floats) values.push_back(JsonNumber(value));
      break;
    }
    case FeatureKind::kInt64: {
      std::vector<int64_t> ints(feature.count);
      feature.CopyInts(ints);
      values = ints;
      break;
    }
    case FeatureKind::kNone:
      break;
  }
  return values;
}

// {name: [values]} of a tf.Example; a record that is none is shown as its bytes.
Json RecordJson(std::string_view bytes) {
  try {
    Json json = Json::object();
    ParseExample(bytes, [&](const FeatureView& feature) {
      json[std::string(feature.name)] = ValuesJson(feature);
    });
    return json;
  } catch (const Error&) {
    return BytesJson(bytes);
  }
}

// Gathers what the front of the file tells: the records to show, and their features.
class Head {
 public:
  explicit Head(int64_t shown) : wanted_(shown) {}

  void Add(const Record& record) {
    if (record.index < wanted_) shown_.push_back(RecordJson(record.bytes));
    if (record.index >= kGuessedFrom || !are_examples_) return;
    try {
      guess_.Add(record.bytes);
    } catch (const Error&) {
      are_examples_ = false;
    }
  }
  [[nodiscard]] const Json& shown() const { return shown_; }
  // The `parse_example` of a job; empty where the records are no tf.Examples with features.
  [[nodiscard]] std::string ParseExampleText() const {
    return are_examples_ && !guess_.Features().empty() ? guess_.Text() : "";
  }

 private:
  int64_t wanted_;
  bool are_examples_ = true;
  Json shown_ = Json::array();
  data::ExampleGuess guess_;
};

// Reads records up to the first damage, which the check has told of.
void ReadHead(const std::string& path, Head& head, int64_t records) {
  try {
    RecordReader reader(path);
    Record record;
    while (reader.Next(record) && record.index < std::max(records, kGuessedFrom)) head.Add(record);
  } catch (const Error&) {
    return;
  }
}

RecordCheck ReadAll(const std::string& path, Head& head) {
  RecordCheck check;
  RecordReader reader(path);
  Record record;
  while (reader.Next(record)) {
    head.Add(record);
    ++check.records;
    check.bytes += record.bytes.size();
  }
  return check;
}

std::string ListText(const Json& values) {
  std::vector<std::string> words;
  for (size_t i = 0; i < std::min(values.size(), kShownValues); ++i) {
    const Json& value = values[i];
    words.push_back(value.is_object() ? fmt::format("<{} bytes: {}{}>", value["bytes"].dump(),
                                                    value["hex"].get<std::string>(),
                                                    value["bytes"] > kShownBytes ? "..." : "")
                                      : value.dump());
  }
  const bool cut = values.size() > kShownValues;
  return fmt::format("[{}{}]{}", Join(words, ", "), cut ? ", ..." : "",
                     cut ? fmt::format(" {} values", values.size()) : "");
}

void PrintRecord(size_t index, const Json& record) {
  fmt::print("record {}\n", index);
  if (record.is_object() && record.contains("hex")) {
    fmt::print("  no tf.Example: {} bytes: {}\n", record["bytes"].dump(),
               record["hex"].get<std::string>());
  } else if (record.is_string()) {
    fmt::print("  no tf.Example: {}\n", record.dump());
  } else {
    for (const auto& [name, values] : record.items()) {
      fmt::print("  {:<24} {}\n", name, ListText(values));
    }
  }
}

void PrintText(const std::string& path, Compression compression, const RecordCheck& check,
               const Head& head) {
  const std::string kind =
      compression == Compression::kNone ? "" : fmt::format(", {}", NameOf(compression));
  fmt::print("TFRecord {}: {} records, {} bytes{}, {}\n", path, WithCommas(check.records),
             WithCommas(static_cast<int64_t>(check.bytes)), kind,
             check.damaged.empty() ? "all checksums correct"
                                   : fmt::format("{} damaged", check.damaged.size()));
  for (const DamagedRecord& damaged : check.damaged) {
    fmt::print("  record {} at byte {} {}\n", damaged.index, damaged.offset, damaged.why);
  }
  for (size_t i = 0; i < head.shown().size(); ++i) PrintRecord(i, head.shown()[i]);
  fmt::print("{}", head.ParseExampleText());
}

Json DamagedJson(const RecordCheck& check) {
  Json list = Json::array();
  for (const DamagedRecord& damaged : check.damaged) {
    list.push_back({{"record", damaged.index}, {"byte", damaged.offset}, {"why", damaged.why}});
  }
  return list;
}

}  // namespace

int ShowRecords(const InspectInvocation& invocation, const std::string& path) {
  const int64_t shown = invocation.head.value_or(0);
  Head head(shown);
  const Compression compression = RecordCompression(path);
  RecordCheck check;
  if (invocation.verify) {
    check = CheckRecords(path);
    ReadHead(path, head, shown);
  } else {
    check = ReadAll(path, head);
  }
  if (invocation.json) {
    PrintDocument("inspect", {{"kind", "tfrecord"},
                              {"path", path},
                              {"records", check.records},
                              {"bytes", check.bytes},
                              {"compression", NameOf(compression)},
                              {"parse_example", head.ParseExampleText()},
                              {"head", head.shown()},
                              {"damaged", DamagedJson(check)}});
  } else {
    PrintText(path, compression, check, head);
  }
  return check.damaged.empty() ? 0 : static_cast<int>(Code::kData);
}

}  // namespace tpuest::cli
