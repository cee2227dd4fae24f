#pragma once
// Messages to and from bytes, text and tensors. The generated headers (core/io/graph.pb.h, ...) are
// for .cpp files.

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace google::protobuf {
class Message;
}

namespace tpuest::pb {
class TensorProto;
class TensorShapeProto;
}  // namespace tpuest::pb

namespace tpuest {

// Encodes a message; equal messages give equal bytes, since maps are written in the order of their
// keys.
[[nodiscard]] std::string ToBytes(const google::protobuf::Message& message);
// Protobuf's text format, as graph.pbtxt holds it; maps are written in the order of their keys.
[[nodiscard]] std::string ToText(const google::protobuf::Message& message);
// `file` names the source in an Error of `code`.
void FromBytes(std::string_view bytes, google::protobuf::Message& message, const std::string& file,
               Code code);
// Fields of another name are passed over; an Error has line and column.
void FromText(std::string_view text, google::protobuf::Message& message, const std::string& file,
              Code code);

// Stores a tensor as TensorFlow writes constants: values in tensor_content, a value that all
// elements have once in its typed list, strings in theirs.
void ToProto(const Tensor& tensor, pb::TensorProto& proto);
// The values, from either form. `what` names the tensor in an Error of Code::kData.
[[nodiscard]] Tensor FromProto(const pb::TensorProto& proto, std::string_view what);
void ToProto(const Shape& shape, pb::TensorShapeProto& proto);
[[nodiscard]] Shape FromProto(const pb::TensorShapeProto& proto);

}  // namespace tpuest
