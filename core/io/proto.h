#pragma once
// Converts protobuf messages to and from bytes, text and tensors. Only .cpp files include the
// generated headers (core/io/graph.pb.h, ...).

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

// Encodes a message. Maps are written in the order of their keys, so equal messages give equal
// bytes.
[[nodiscard]] std::string ToBytes(const google::protobuf::Message& message);
// Protobuf's text format, as in graph.pbtxt; maps are written in the order of their keys.
[[nodiscard]] std::string ToText(const google::protobuf::Message& message);
// `file` names the source in an Error of `code`.
void FromBytes(std::string_view bytes, google::protobuf::Message& message, const std::string& file,
               Code code);
// Ignores unknown fields; an Error names line and column.
void FromText(std::string_view text, google::protobuf::Message& message, const std::string& file,
              Code code);

// Stores a tensor as TensorFlow writes constants: values in tensor_content, a value that all
// elements share once in its typed list, and strings in their list.
void ToProto(const Tensor& tensor, pb::TensorProto& proto);
// Reads the values from either form. `what` names the tensor in an Error of Code::kData.
[[nodiscard]] Tensor FromProto(const pb::TensorProto& proto, std::string_view what);
void ToProto(const Shape& shape, pb::TensorShapeProto& proto);
[[nodiscard]] Shape FromProto(const pb::TensorShapeProto& proto);

}  // namespace tpuest
