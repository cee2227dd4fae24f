#include "core/graph/read/attr_reader.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/tensor/limits.h"

namespace tpuest {
namespace {

template <class T, class List>
std::vector<T> ReadList(const List& list) {
  return {list.begin(), list.end()};
}

class AttrReader {
 public:
  AttrReader(const pb::NodeDef& node, const std::string& name) : node_(node), name_(name) {}

  [[nodiscard]] AttrValue Read(const std::string& type) const {
    const auto found = node_.attr().find(name_);
    if (found == node_.attr().end()) Fail("is missing");
    const pb::AttrValue& value = found->second;
    if (value.value_case() != CaseOf(type)) Fail(fmt::format("is not a {}", type));
    switch (value.value_case()) {
      case pb::AttrValue::kList:
        return ReadListOf(type, value.list());
      case pb::AttrValue::kI:
        return AttrValue(static_cast<int64_t>(value.i()));
      case pb::AttrValue::kF:
        return AttrValue(value.f());
      case pb::AttrValue::kB:
        return AttrValue(value.b());
      case pb::AttrValue::kS:
        return AttrValue(value.s());
      case pb::AttrValue::kType:
        return AttrValue(ReadType(value.type()));
      case pb::AttrValue::kShape:
        return AttrValue(ReadShape(value.shape()));
      case pb::AttrValue::kTensor:
        return AttrValue(FromProto(value.tensor(), node_.name()));
      case pb::AttrValue::kFunc:
        return AttrValue(FunctionRef{value.func().name()});
      default:
        Fail("has a value that tpuest does not read");
    }
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(Code::kData, fmt::format("node '{}' ({}): attribute {} {}", node_.name(),
                                         node_.op(), name_, what));
  }

  // The field of an AttrValue that holds a value of the type; the signature's words are
  // TensorFlow's.
  static pb::AttrValue::ValueCase CaseOf(const std::string& type) {
    if (type.starts_with("list(")) return pb::AttrValue::kList;
    if (type == "int") return pb::AttrValue::kI;
    if (type == "float") return pb::AttrValue::kF;
    if (type == "bool") return pb::AttrValue::kB;
    if (type == "string") return pb::AttrValue::kS;
    if (type == "type") return pb::AttrValue::kType;
    if (type == "shape") return pb::AttrValue::kShape;
    if (type == "tensor") return pb::AttrValue::kTensor;
    return pb::AttrValue::kFunc;
  }

  [[nodiscard]] AttrValue ReadListOf(const std::string& type,
                                     const pb::AttrValue::ListValue& list) const {
    if (type == "list(int)") return AttrValue(ReadList<int64_t>(list.i()));
    if (type == "list(float)") return AttrValue(ReadList<float>(list.f()));
    if (type == "list(bool)") return AttrValue(ReadList<bool>(list.b()));
    if (type == "list(string)") return AttrValue(ReadList<std::string>(list.s()));
    if (type == "list(type)") {
      std::vector<DType> types;
      for (const int dtype : list.type()) types.push_back(ReadType(dtype));
      return types;
    }
    if (type != "list(shape)") Fail("has a value that tpuest does not read");
    std::vector<Shape> shapes;
    for (const pb::TensorShapeProto& shape : list.shape()) shapes.push_back(ReadShape(shape));
    return shapes;
  }

  [[nodiscard]] DType ReadType(int number) const {
    const auto dtype = static_cast<DType>(number);
    if (NameOf(dtype) == NameOf(DType::kInvalid)) {
      Fail(fmt::format("is the type {}, which tpuest does not support",
                       pb::DataType_IsValid(number)
                           ? pb::DataType_Name(static_cast<pb::DataType>(number))
                           : std::to_string(number)));
    }
    return dtype;
  }

  [[nodiscard]] Shape ReadShape(const pb::TensorShapeProto& proto) const {
    Shape shape = FromProto(proto);
    if (!IsCountable(shape)) Fail("is not the shape of a tensor");
    return shape;
  }

  const pb::NodeDef& node_;
  const std::string& name_;
};

}  // namespace

AttrValue ReadAttr(const pb::NodeDef& node, const std::string& name, const std::string& type) {
  return AttrReader(node, name).Read(type);
}

}  // namespace tpuest
