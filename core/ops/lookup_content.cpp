// Reads the text files of tables as TensorFlow does: one entry per line, columns between
// delimiters, carriage returns dropped. key_index and value_index select a column: -2 is the whole
// line, -1 the line number.

#include "core/ops/lookup_content.h"

#include <algorithm>
#include <map>

#include "core/backend/bind.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/graph/write/tables.h"

namespace tpuest::ops {
namespace {

constexpr int64_t kWholeLine = -2;
constexpr int64_t kLineNumber = -1;

[[noreturn]] void Refuse(const Node& node, Code code, const std::string& what) {
  throw Error(code, fmt::format("{} '{}': {}", node.type(), node.name(), what)).At(node.origin());
}

bool IsPure(const Node& node) {
  return !node.op().stateful && !node.op().host && node.op().cpu != nullptr &&
         !node.inputs().empty();
}

// Computes values that follow from constants, each once.
class KnownValues {
 public:
  // Returns an invalid Tensor if the value does not follow from constants, or only through a longer
  // chain of nodes than tables have.
  Tensor Of(const Value& value, int left = 100) {
    if (Tensor known = ConstantValue(value); known.valid()) return known;
    Node& node = *value.node;
    if (left == 0 || !IsPure(node)) return {};
    if (!outputs_.contains(&node)) outputs_[&node] = Evaluated(node, left - 1);
    const std::vector<Tensor>& outputs = outputs_[&node];
    return outputs.empty() ? Tensor() : outputs[static_cast<size_t>(value.index)];
  }

 private:
  // Returns no tensors if an input is not known.
  std::vector<Tensor> Evaluated(Node& node, int left) {
    for (int i = 0; i < node.outputs(); ++i) {
      if (!node.output_shape(i).fully_known()) return {};
    }
    std::vector<Tensor> inputs;
    for (const Value& input : node.inputs()) {
      inputs.push_back(Of(input, left));
      if (!inputs.back().valid()) return {};
    }
    return EvaluateNode(node, inputs);
  }

  std::map<const Node*, std::vector<Tensor>> outputs_;
};

Tensor NeedKnown(const Node& initializer, int input, std::string_view what) {
  Tensor known = KnownValues().Of(initializer.input(input));
  if (known.valid()) return known;
  Refuse(initializer, Code::kUsage,
         fmt::format("its {}, '{}', must be constants", what, initializer.input(input).name()));
}

std::string PathOf(const Node& initializer) {
  const Tensor path = NeedKnown(initializer, 1, "file's name");
  if (path.dtype() == DType::kString && path.elements() == 1) return std::string(path.strings()[0]);
  Refuse(initializer, Code::kData, "its file name is not a string");
}

// Splits the lines of a file into keys and values.
class TextFile {
 public:
  TextFile(const Node& node, const Node& table)
      : node_(node),
        path_(PathOf(node)),
        key_{node.Attr<int64_t>("key_index"), table.Attr<DType>("key_dtype")},
        value_{node.Attr<int64_t>("value_index"), table.Attr<DType>("value_dtype")} {
    for (const Side& side : {key_, value_}) {
      if (side.index < kWholeLine || (side.index == kLineNumber && side.dtype != DType::kInt64)) {
        Fail(fmt::format("column {} cannot be {}", side.index, NameOf(side.dtype)));
      }
    }
    if (node.Attr<std::string>("delimiter").size() != 1)
      Fail("the delimiter must be one character");
  }

  TableContent Read() {
    const int64_t limit = node_.Attr<int64_t>("vocab_size");
    for (const std::string_view line : LinesOf(ReadWords(path_))) {
      if (limit >= 0 && lines_ == limit) break;
      AddLine(line);
    }
    if (limit > lines_) {
      Fail(fmt::format("vocab_size is {}, but the file has {} lines", limit, lines_));
    }
    return {key_.Column(), value_.Column()};
  }

 private:
  struct Side {
    int64_t index;
    DType dtype;
    std::vector<std::string> texts = {};
    std::vector<int64_t> numbers = {};

    [[nodiscard]] Tensor Column() const {
      if (dtype == DType::kString) {
        return Tensor::Strings({static_cast<int64_t>(texts.size())}, texts);
      }
      return Tensor::Of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers).Cast(dtype);
    }
  };

  // A line may end in CRLF; any other \r is part of the line, as in TensorFlow.
  std::vector<std::string_view> LinesOf(std::string text) {
    text_ = std::move(text);
    std::vector<std::string_view> lines;
    for (size_t at = 0; at < text_.size();) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      lines.push_back(std::string_view(text_).substr(at, end - at));
      if (lines.back().ends_with('\r')) lines.back().remove_suffix(1);
      at = end + 1;
    }
    const auto offset = static_cast<size_t>(node_.Attr<int64_t>("offset"));
    lines.erase(lines.begin(),
                lines.begin() + static_cast<ptrdiff_t>(std::min(offset, lines.size())));
    return lines;
  }

  void AddLine(std::string_view line) {
    std::vector<std::string> columns;
    if (key_.index >= 0 || value_.index >= 0) {
      columns = Split(line, node_.Attr<std::string>("delimiter").front());
    }
    ++lines_;
    Take(key_, line, columns);
    Take(value_, line, columns);
  }

  void Take(Side& side, std::string_view line, const std::vector<std::string>& columns) const {
    if (side.index == kLineNumber) {
      side.numbers.push_back(lines_ - 1);
      return;
    }
    if (side.index >= static_cast<int64_t>(columns.size()) && side.index != kWholeLine) {
      Fail(fmt::format("line {} has {} columns, expected at least {}", lines_, columns.size(),
                       side.index + 1));
    }
    const std::string_view text = side.index == kWholeLine
                                      ? line
                                      : std::string_view(columns[static_cast<size_t>(side.index)]);
    if (side.dtype == DType::kString) {
      side.texts.emplace_back(text);
      return;
    }
    const std::optional<int64_t> number = WholeNumber<int64_t>(text);
    if (!number)
      Fail(fmt::format("line {}: \"{}\" is not a valid {}", lines_, text, NameOf(side.dtype)));
    side.numbers.push_back(*number);
  }

  [[noreturn]] void Fail(const std::string& what) const {
    Refuse(node_, Code::kData, fmt::format("{}: {}", path_, what));
  }

  const Node& node_;
  const std::string path_;
  std::string text_;
  int64_t lines_ = 0;
  Side key_;
  Side value_;
};

TableContent Initial(const Node& initializer, const Node& table) {
  if (initializer.type() == "InitializeTableFromTextFileV2") {
    return TextFile(initializer, table).Read();
  }
  const Tensor keys = NeedKnown(initializer, 1, "keys");
  const Tensor values = NeedKnown(initializer, 2, "values");
  return {keys.Reshaped({keys.elements()}), values.Reshaped({values.elements()})};
}

void CheckContentDType(const Node& initializer, std::string_view what, DType found,
                       DType expected) {
  if (found == expected) return;
  Refuse(initializer, Code::kUsage,
         fmt::format("{} are {}, but the table has {}", what, NameOf(found), NameOf(expected)));
}

}  // namespace

TableContent ContentOf(const Node& lookup) {
  const Value& handle = lookup.input(0);
  const Node& table = *handle.node;
  if (table.type() != "HashTableV2") {
    Refuse(lookup, Code::kUsage,
           fmt::format("'{}' ({}) is not the handle of a table", table.name(), table.type()));
  }
  const Node* const initializer = FindTableInitializer(handle);
  if (initializer == nullptr) {
    Refuse(lookup, Code::kUsage,
           fmt::format("Table not initialized: nothing in the graph gives "
                       "'{}' its keys and values",
                       table.name()));
  }
  TableContent content = Initial(*initializer, table);
  CheckContentDType(*initializer, "keys", content.keys.dtype(), table.Attr<DType>("key_dtype"));
  CheckContentDType(*initializer, "values", content.values.dtype(),
                    table.Attr<DType>("value_dtype"));
  if (content.keys.elements() != content.values.elements()) {
    Refuse(
        *initializer, Code::kUsage,
        fmt::format("{} keys and {} values", content.keys.elements(), content.values.elements()));
  }
  return content;
}

}  // namespace tpuest::ops
