#include "core/io/proto.h"

#include "core/io/protos.h"
#include "core/tensor/bool_bytes.h"

// must follow protos.h for the same reason
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace tpuest {
namespace {

using google::protobuf::Message;

// Keeps the first error of a text.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line + 1;
    column_ = column + 1;
    message_ = message;
  }
  [[nodiscard]] Error AsError(const Message& into, const std::string& file, Code code) const {
    return Error(code, fmt::format("this is not the text of a {}: {}", into.GetDescriptor()->name(),
                                   message_))
        .At({file, line_, column_});
  }

 private:
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

// Resolves the types that TensorFlow names in an Any of a text ("[.../tensorflow.AssetFileDef]
// {...}") to ours, which have the same fields in another package.
class TensorFlowTypes : public google::protobuf::TextFormat::Finder {
 public:
  const google::protobuf::Descriptor* FindAnyType(const Message& /*message*/,
                                                  const std::string& /*prefix*/,
                                                  const std::string& name) const override {
    constexpr std::string_view kPackage = "tensorflow.";
    if (!name.starts_with(kPackage)) return nullptr;
    return pb::MetaGraphDef::descriptor()->file()->pool()->FindMessageTypeByName(
        "tpuest.pb." + name.substr(kPackage.size()));
  }
};

// Takes the values of a list and repeats the last one over the rest of the tensor; an empty list
// gives zeros.
template <class T, class List, class Convert>
void Fill(Tensor& tensor, const List& list, Convert convert) {
  auto* const out = static_cast<T*>(tensor.raw());
  const int64_t given = std::min<int64_t>(list.size(), tensor.elements());
  for (int64_t i = 0; i < given; ++i) out[i] = convert(list[static_cast<int>(i)]);
  if (given > 0) std::fill(out + given, out + tensor.elements(), out[given - 1]);
}

template <class T, class List>
void Fill(Tensor& tensor, const List& list) {
  Fill<T>(tensor, list, [](auto value) { return static_cast<T>(value); });
}

void FillFromLists(Tensor& tensor, const pb::TensorProto& proto) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return Fill<float>(tensor, proto.float_val());
    case DType::kDouble:
      return Fill<double>(tensor, proto.double_val());
    case DType::kInt32:
      return Fill<int32_t>(tensor, proto.int_val());
    case DType::kUint8:
      return Fill<uint8_t>(tensor, proto.int_val());
    case DType::kInt16:
      return Fill<int16_t>(tensor, proto.int_val());
    case DType::kInt8:
      return Fill<int8_t>(tensor, proto.int_val());
    case DType::kUint16:
      return Fill<uint16_t>(tensor, proto.int_val());
    case DType::kInt64:
      return Fill<int64_t>(tensor, proto.int64_val());
    case DType::kBool:
      return Fill<bool>(tensor, proto.bool_val());
    case DType::kUint32:
      return Fill<uint32_t>(tensor, proto.uint32_val());
    case DType::kUint64:
      return Fill<uint64_t>(tensor, proto.uint64_val());
    case DType::kHalf:
    case DType::kBfloat16:
      return Fill<uint16_t>(tensor, proto.half_val());
    default:
      return;
  }
}

Tensor StringsFromProto(const pb::TensorProto& proto, Shape shape) {
  const auto n = static_cast<size_t>(shape.elements());
  std::vector<std::string> values(proto.string_val().begin(), proto.string_val().end());
  values.resize(n, values.empty() ? std::string() : values.back());
  return Tensor::Strings(std::move(shape), values);
}

// TensorFlow keeps single values in the typed lists, which the text format shows.
void ScalarToProto(const Tensor& tensor, pb::TensorProto& proto) {
  const void* const at = tensor.raw();
  switch (tensor.dtype()) {
    case DType::kFloat:
      return proto.add_float_val(*static_cast<const float*>(at));
    case DType::kDouble:
      return proto.add_double_val(*static_cast<const double*>(at));
    case DType::kInt32:
      return proto.add_int_val(*static_cast<const int32_t*>(at));
    case DType::kUint8:
      return proto.add_int_val(*static_cast<const uint8_t*>(at));
    case DType::kInt16:
      return proto.add_int_val(*static_cast<const int16_t*>(at));
    case DType::kInt8:
      return proto.add_int_val(*static_cast<const int8_t*>(at));
    case DType::kUint16:
      return proto.add_int_val(*static_cast<const uint16_t*>(at));
    case DType::kInt64:
      return proto.add_int64_val(*static_cast<const int64_t*>(at));
    case DType::kBool:
      return proto.add_bool_val(*static_cast<const bool*>(at));
    case DType::kUint32:
      return proto.add_uint32_val(*static_cast<const uint32_t*>(at));
    case DType::kUint64:
      return proto.add_uint64_val(*static_cast<const uint64_t*>(at));
    case DType::kHalf:
    case DType::kBfloat16:
      return proto.add_half_val(*static_cast<const uint16_t*>(at));
    default:
      return;
  }
}

// True if all elements have the same bits: every byte equals the byte one element before it.
bool IsUniform(const Tensor& tensor) {
  if (tensor.elements() == 0) return false;
  const auto* const bytes = static_cast<const char*>(tensor.raw());
  const size_t element = SizeOf(tensor.dtype());
  return std::memcmp(bytes, bytes + element, tensor.bytes() - element) == 0;
}

// Returns the number of elements of a shape from a file, or -1 if a dimension is unknown or the
// number is unreasonably large.
int64_t CheckedElements(const Shape& shape) {
  if (!shape.fully_known()) return -1;
  int64_t n = 1;
  for (const int64_t dim : shape.dims()) {
    if (__builtin_mul_overflow(n, dim, &n) || n > (int64_t{1} << 31)) return -1;
  }
  return n;
}

}  // namespace

std::string ToBytes(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    Check(message.SerializeToCodedStream(&coded));
  }
  return bytes;
}

std::string ToText(const Message& message) {
  std::string text;
  Check(google::protobuf::TextFormat::PrintToString(message, &text));
  return text;
}

void FromBytes(std::string_view bytes, Message& message, const std::string& file, Code code) {
  const google::protobuf::LogSilencer quiet;  // only the Error reports the fault
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw Error(code, fmt::format("{}: these {} bytes are not a {}", file, bytes.size(),
                                  message.GetDescriptor()->name()));
  }
}

void FromText(std::string_view text, Message& message, const std::string& file, Code code) {
  const google::protobuf::LogSilencer quiet;
  google::protobuf::TextFormat::Parser parser;
  const TensorFlowTypes types;
  parser.SetFinder(&types);
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.AllowUnknownField(true);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &message)) throw error.AsError(message, file, code);
}

void ToProto(const Tensor& tensor, pb::TensorProto& proto) {
  proto.Clear();
  proto.set_dtype(static_cast<pb::DataType>(tensor.dtype()));
  ToProto(tensor.shape(), *proto.mutable_tensor_shape());
  if (tensor.dtype() == DType::kString) {
    for (const std::string_view value : tensor.strings()) {
      proto.add_string_val(value.data(), value.size());
    }
  } else if (IsUniform(tensor)) {
    ScalarToProto(tensor, proto);
  } else {
    proto.set_tensor_content(tensor.raw(), tensor.bytes());
  }
}

Tensor FromProto(const pb::TensorProto& proto, std::string_view what) {
  const auto dtype = static_cast<DType>(proto.dtype());
  if (dtype != DType::kString && SizeOf(dtype) == 0) {
    throw Error(Code::kData,
                fmt::format("{}: no host tensor of {}", what, pb::DataType_Name(proto.dtype())));
  }
  Shape shape = FromProto(proto.tensor_shape());
  const int64_t elements = CheckedElements(shape);
  if (elements < 0) {
    throw Error(Code::kData, fmt::format("{}: no host tensor of shape {}", what, shape.Text()));
  }
  if (dtype == DType::kString) {
    // The last string stands for all missing ones. This bound keeps a few bytes from asking for
    // billions of strings.
    constexpr int64_t kMostMissing = int64_t{1} << 22;
    if (elements - proto.string_val_size() > kMostMissing) {
      throw Error(Code::kData, fmt::format("{}: {} strings, of which {} are there", what, elements,
                                           proto.string_val_size()));
    }
    return StringsFromProto(proto, std::move(shape));
  }
  const std::string& content = proto.tensor_content();
  if (!content.empty() && content.size() != static_cast<size_t>(elements) * SizeOf(dtype)) {
    throw Error(Code::kData,
                fmt::format("{}: {} {} takes {} bytes, {} found", what, NameOf(dtype), shape.Text(),
                            static_cast<size_t>(elements) * SizeOf(dtype), content.size()));
  }
  Tensor tensor(dtype, std::move(shape));
  if (content.empty()) {
    FillFromLists(tensor, proto);
  } else {
    std::memcpy(tensor.raw(), content.data(), content.size());
    NormalizeBools(dtype, tensor.raw(), content.size());
  }
  return tensor;
}

void ToProto(const Shape& shape, pb::TensorShapeProto& proto) {
  proto.Clear();
  proto.set_unknown_rank(!shape.known_rank());
  for (const int64_t dim : shape.dims()) proto.add_dim()->set_size(dim);
}

Shape FromProto(const pb::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Shape::UnknownRank();
  std::vector<int64_t> dims;
  for (const pb::TensorShapeProto::Dim& dim : proto.dim()) dims.push_back(dim.size());
  return Shape(std::move(dims));
}

}  // namespace tpuest
