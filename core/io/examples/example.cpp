#include "core/io/examples/example.h"

#include "core/base/error.h"
#include "core/io/examples/sequence_example.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

// A tag's byte: field number and wire type.
constexpr uint64_t Tag(uint32_t field, WireType type) { return field << 3 | type; }

// Reads a message field by field; `example` points to byte 0 of the Example.
class Wire {
 public:
  Wire(std::string_view message, const char* example) : rest_(message), example_(example) {}

  [[nodiscard]] bool AtEnd() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  [[nodiscard]] uint64_t Varint() {
    uint64_t value = 0;
    if (!TakeVarint(rest_, value)) [[unlikely]] {
      Refuse("a number that does not end");
    }
    return value;
  }
  [[nodiscard]] std::string_view Bytes() {
    const uint64_t size = Varint();
    std::string_view bytes;
    if (!TakeBytes(rest_, size, bytes)) [[unlikely]] {
      Refuse(fmt::format("a length of {} where {} bytes are left", size, rest_.size()));
    }
    return bytes;
  }
  void Skip(uint64_t tag) {
    std::string_view skipped;
    switch (tag & 7) {
      case kVarint:
        static_cast<void>(Varint());
        return;
      case kLengthDelimited:
        static_cast<void>(Bytes());
        return;
      case kFixed64:
        return Take(8, skipped);
      case kFixed32:
        return Take(4, skipped);
      default:
        Refuse(fmt::format("a field of unknown kind {}", tag & 7));
    }
  }
  void Take(size_t size, std::string_view& bytes) {
    if (!TakeBytes(rest_, size, bytes)) [[unlikely]] {
      Refuse(fmt::format("{} bytes where {} are left", size, rest_.size()));
    }
  }
  [[noreturn, gnu::cold]] void Refuse(std::string_view found) const {
    throw Error(Code::kData, fmt::format("tf.Example is malformed at byte {}: {}",
                                         rest_.data() - example_, found));
  }

 private:
  std::string_view rest_;
  const char* example_;
};

// Counts the numbers in a run of varints; a number ends with a byte < 0x80. The caller checks the
// run before or after.
size_t CountVarints(std::string_view run) {
  size_t count = 0;
  for (const char c : run) count += static_cast<unsigned char>(c) < 0x80 ? 1 : 0;
  return count;
}

size_t CheckBytesList(Wire list) {
  size_t count = 0;
  while (!list.AtEnd()) {
    const uint64_t tag = list.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      static_cast<void>(list.Bytes());
      ++count;
    } else {
      list.Skip(tag);
    }
  }
  return count;
}

size_t CheckFloatList(Wire list) {
  size_t count = 0;
  while (!list.AtEnd()) {
    const uint64_t tag = list.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      const std::string_view run = list.Bytes();
      if (run.size() % 4 != 0) {
        list.Refuse(fmt::format("{} bytes before it are no whole floats", run.size()));
      }
      count += run.size() / 4;
    } else {
      count += tag == Tag(1, kFixed32) ? 1 : 0;
      list.Skip(tag);
    }
  }
  return count;
}

// True if every number of the run ends, within 10 bytes.
bool AllVarintsEnd(std::string_view run) {
  size_t length = 0;
  for (const char c : run) {
    length = static_cast<unsigned char>(c) < 0x80 ? 0 : length + 1;
    if (length == 10) return false;
  }
  return length == 0;
}

size_t CheckIntList(Wire list) {
  size_t count = 0;
  while (!list.AtEnd()) {
    const uint64_t tag = list.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      const std::string_view run = list.Bytes();
      const size_t numbers = CountVarints(run);
      if (numbers != run.size() && !AllVarintsEnd(run)) {
        list.Refuse("a number before it does not end");
      }
      count += numbers;
    } else {
      count += tag == Tag(1, kVarint) ? 1 : 0;
      list.Skip(tag);
    }
  }
  return count;
}

// Fills in kind, list and count from a Feature message.
void ReadFeature(std::string_view message, const char* example, FeatureView& feature) {
  Wire wire(message, example);
  while (!wire.AtEnd()) {
    const uint64_t tag = wire.Varint();
    switch (tag) {
      case Tag(1, kLengthDelimited):
        feature.kind = FeatureKind::kBytes;
        break;
      case Tag(2, kLengthDelimited):
        feature.kind = FeatureKind::kFloat;
        break;
      case Tag(3, kLengthDelimited):
        feature.kind = FeatureKind::kInt64;
        break;
      default:
        wire.Skip(tag);
        continue;
    }
    feature.list = wire.Bytes();
  }
  const Wire list(feature.list, example);
  switch (feature.kind) {
    case FeatureKind::kBytes:
      feature.count = CheckBytesList(list);
      break;
    case FeatureKind::kFloat:
      feature.count = CheckFloatList(list);
      break;
    case FeatureKind::kInt64:
      feature.count = CheckIntList(list);
      break;
    case FeatureKind::kNone:
      feature.count = 0;
      break;
  }
}

// Reads one entry of the features map.
void ReadEntry(std::string_view message, const char* example, FeatureView& feature) {
  feature = FeatureView();
  std::string_view value;
  Wire wire(message, example);
  while (!wire.AtEnd()) {
    const uint64_t tag = wire.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      feature.name = wire.Bytes();
    } else if (tag == Tag(2, kLengthDelimited)) {
      value = wire.Bytes();
    } else {
      wire.Skip(tag);
    }
  }
  ReadFeature(value, example, feature);
}

// One entry of the feature lists' map: its name, and the list's message.
std::pair<std::string_view, std::string_view> ReadListEntry(std::string_view message,
                                                            const char* example) {
  std::pair<std::string_view, std::string_view> entry;
  Wire wire(message, example);
  while (!wire.AtEnd()) {
    const uint64_t tag = wire.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      entry.first = wire.Bytes();
    } else if (tag == Tag(2, kLengthDelimited)) {
      entry.second = wire.Bytes();
    } else {
      wire.Skip(tag);
    }
  }
  return entry;
}

void CheckRead(const FeatureView& feature, FeatureKind kind, size_t room) {
  Check(feature.kind == kind && feature.count == room, "\"{}\" is a {} of {}, read as {} of {}",
        feature.name, NameOf(feature.kind), feature.count, NameOf(kind), room);
}

}  // namespace

std::string_view NameOf(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kBytes:
      return "bytes_list";
    case FeatureKind::kFloat:
      return "float_list";
    case FeatureKind::kInt64:
      return "int64_list";
    case FeatureKind::kNone:
      return "no list";
  }
  return "no list";
}

void FeatureView::CopyBytes(std::span<std::string_view> values) const {
  CheckRead(*this, FeatureKind::kBytes, values.size());
  Wire wire(list, list.data());
  for (std::string_view* out = values.data(); !wire.AtEnd();) {
    const uint64_t tag = wire.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      *out++ = wire.Bytes();
    } else {
      wire.Skip(tag);
    }
  }
}

void FeatureView::CopyFloats(std::span<float> values) const {
  CheckRead(*this, FeatureKind::kFloat, values.size());
  Wire wire(list, list.data());
  for (float* out = values.data(); !wire.AtEnd();) {
    const uint64_t tag = wire.Varint();
    std::string_view run;
    if (tag == Tag(1, kLengthDelimited)) {
      run = wire.Bytes();
    } else if (tag == Tag(1, kFixed32)) {
      wire.Take(4, run);
    } else {
      wire.Skip(tag);
    }
    if (!run.empty()) std::memcpy(out, run.data(), run.size());
    out += run.size() / 4;
  }
}

void FeatureView::CopyInts(std::span<int64_t> values) const {
  CheckRead(*this, FeatureKind::kInt64, values.size());
  Wire wire(list, list.data());
  for (int64_t* out = values.data(); !wire.AtEnd();) {
    const uint64_t tag = wire.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      Wire run(wire.Bytes(), list.data());
      while (!run.AtEnd()) *out++ = static_cast<int64_t>(run.Varint());
    } else if (tag == Tag(1, kVarint)) {
      *out++ = static_cast<int64_t>(wire.Varint());
    } else {
      wire.Skip(tag);
    }
  }
}

ExampleCursor::ExampleCursor(std::string_view example) : example_(example), rest_(example) {}

bool ExampleCursor::Next(FeatureView& feature) {
  const char* const start = example_.data();
  while (true) {
    Wire features(features_, start);
    while (!features.AtEnd()) {
      const uint64_t tag = features.Varint();
      if (tag == Tag(1, kLengthDelimited)) {
        ReadEntry(features.Bytes(), start, feature);
        features_ = features.rest();
        return true;
      }
      features.Skip(tag);
    }
    features_ = {};
    Wire example(rest_, start);
    if (example.AtEnd()) return false;
    const uint64_t tag = example.Varint();
    if (tag == Tag(1, kLengthDelimited)) {
      features_ = example.Bytes();
    } else {
      example.Skip(tag);
    }
    rest_ = example.rest();
  }
}

// SequenceExample: Features context = 1; FeatureLists feature_lists = 2, a map of name to
// FeatureList, which is a repeated Feature feature = 1.
void ParseFeatureLists(std::string_view example, const FeatureListVisitor& visitor) {
  const auto each = [&](std::string_view message, uint64_t field, const auto& visit) {
    Wire wire(message, example.data());
    while (!wire.AtEnd()) {
      const uint64_t tag = wire.Varint();
      if (tag == field) {
        visit(wire.Bytes());
      } else {
        wire.Skip(tag);
      }
    }
  };
  each(example, Tag(2, kLengthDelimited), [&](std::string_view lists) {
    each(lists, Tag(1, kLengthDelimited), [&](std::string_view message) {
      const auto [name, list] = ReadListEntry(message, example.data());
      int64_t step = 0;
      each(list, Tag(1, kLengthDelimited), [&, name = name](std::string_view feature) {
        FeatureView view;
        view.name = name;
        ReadFeature(feature, example.data(), view);
        visitor(name, step++, view);
      });
      if (step == 0) visitor(name, -1, {.name = name});
    });
  });
}

}  // namespace tpuest
