#include "cli/job/schema.h"

#include "cli/job/job.h"
#include "cli/job/keras_model.h"
#include "cli/shell/json.h"
#include "config/variant.h"
#include "models/model_files.h"

namespace tpuest::cli {
namespace {

using config::Fresh;
using config::Item;
using config::Member;
using config::Type;
using config::Value;
using Kind = Type::Kind;

constexpr const char* kDialect = "https://json-schema.org/draft/2020-12/schema";
// The pattern of a string with ${...}, which every scalar allows, because the result may have any
// type.
constexpr const char* kVariable = "\\$\\{";
constexpr const char* kFraction = "^[-+0-9.eE]+/[-+0-9.eE]+$";
constexpr const char* kEpochs = "^[0-9.eE+]+ep$";
constexpr const char* kPeriod = "^[0-9.eE+]+(ep|s|m|h)$";

Json Pattern(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }
Json AnyOf(Json of) { return {{"anyOf", std::move(of)}}; }
Json OrVariable(const Json& schema) { return AnyOf({schema, {{"$ref", "#/$defs/${}"}}}); }

// Returns the default of a key; nullopt for a section and for a default that cannot be written in a
// job.
std::optional<Json> DefaultOf(const Value& value) {
  switch (value.type->kind) {
    case Kind::kBool:
      return *static_cast<const bool*>(value.at);
    case Kind::kInteger:
      return Json::parse(value.type->integer_text(value.at));
    case Kind::kNumber:
      return *static_cast<const double*>(value.at);
    case Kind::kString:
      return *static_cast<const std::string*>(value.at);
    case Kind::kPeriod:
      return config::FlowText(value);
    case Kind::kOptional: {
      if (!config::WasGiven(value)) return std::nullopt;
      const std::vector<Item> items = config::ItemsOf(value);
      return items.empty() ? Json() : DefaultOf(items.front().value);
    }
    case Kind::kList: {
      Json list = Json::array();
      for (const Item& item : config::ItemsOf(value)) {
        const std::optional<Json> of_item = DefaultOf(item.value);
        if (!of_item) return std::nullopt;
        list.push_back(*of_item);
      }
      return list;
    }
    case Kind::kVariant: {
      const Type& type = *value.type;
      const Value chosen{type.alternatives[type.index(value.at)], type.chosen(value.at)};
      if (chosen.type->kind == Kind::kSection && !chosen.type->name.empty()) {
        return std::string(chosen.type->name);
      }
      return DefaultOf(chosen);
    }
    case Kind::kRaw:
    case Kind::kMap:
    case Kind::kSection:
      break;
  }
  return std::nullopt;
}

class SchemaWriter {
 public:
  // Returns the properties of a section; `at` holds its defaults.
  Json Section(const Type& type, void* at) {
    Json properties = Json::object();
    Json required = Json::array();
    if (!type.name.empty()) {
      Json names = Json::array({type.name});
      for (const std::string_view alias : type.aliases) names.push_back(alias);
      properties[std::string(type.type_key)] = {{"enum", names}};
      required.push_back(type.type_key);
    }
    for (const Member& member : config::MembersOf({&type, at})) {
      Json schema = Of(*member.value.type, member.value.at, member.field);
      if (config::NullIsEmpty(member.value, member.field)) {
        schema = AnyOf({std::move(schema), {{"type", "null"}}});
      }
      if (!member.field.help.empty()) schema["description"] = member.field.help;
      if (member.field.required) {
        required.push_back(member.name);
      } else if (const std::optional<Json> usual = DefaultOf(member.value)) {
        schema["default"] = *usual;
      }
      properties[std::string(member.name)] = std::move(schema);
    }
    Json section = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) section["required"] = std::move(required);
    section["additionalProperties"] = false;
    return section;
  }

  [[nodiscard]] Json TakeDefinitions() { return std::move(definitions_); }

 private:
  Json Of(const Type& type, void* at, const Field& field) {
    switch (type.kind) {
      case Kind::kBool:
        return OrVariable({{"type", "boolean"}});
      case Kind::kInteger:
        if (type.set_epochs == nullptr) return OrVariable(Integer(type));
        return OrVariable(AnyOf({Integer(type), Pattern(kEpochs)}));
      case Kind::kNumber:
        return OrVariable(AnyOf({{{"type", "number"}}, Pattern(kFraction)}));
      case Kind::kString:
        return Words(field);
      case Kind::kPeriod:
        return OrVariable(AnyOf({{{"type", "number"}}, Pattern(kPeriod)}));
      case Kind::kRaw:
        return Json::object();
      case Kind::kOptional:
        return AnyOf({OfFresh(*type.item, field), {{"type", "null"}}});
      case Kind::kList:
        return {{"type", "array"}, {"items", OfFresh(*type.item, field)}};
      case Kind::kMap:
        return {{"type", "object"}, {"additionalProperties", OfFresh(*type.item, field)}};
      case Kind::kSection:
        return type.name.empty() ? Section(type, at) : Named(type);
      case Kind::kVariant:
        break;
    }
    return Alternatives(type, field);
  }

  Json OfFresh(const Type& type, const Field& field) {
    const Fresh fresh = type.make();
    return Of(type, fresh.get(), field);
  }

  static Json Integer(const Type& type) {
    Json schema = {{"type", "integer"}};
    if (type.min != std::numeric_limits<int64_t>::min()) schema["minimum"] = type.min;
    if (type.max < static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      schema["maximum"] = type.max;
    }
    return schema;
  }

  static Json Words(const Field& field) {
    if (field.values.empty()) return {{"type", "string"}};
    Json words = Json::array();
    for (const std::string_view word : field.values) words.push_back(word);
    return OrVariable({{"enum", words}});
  }

  // Refers to a definition, because sections may contain each other.
  Json Named(const Type& type) {
    const std::string name(type.name);
    const auto [known, is_new] = names_.emplace(&type, name);
    if (is_new) {
      // Two kinds can have different types of the same name: GlorotUniform of layers and of
      // columns.
      while (definitions_.contains(known->second)) known->second += "_";
      definitions_[known->second] = Json();
      const Fresh fresh = type.make();
      Json section = Section(type, fresh.get());
      definitions_[known->second] = std::move(section);
    }
    return {{"$ref", "#/$defs/" + known->second}};
  }

  // A section with a type may also be written as just the type's name.
  Json Alternatives(const Type& variant, const Field& field) {
    Json names = Json::array();
    Json any = Json::array();
    for (const Type* const type : variant.alternatives) {
      if (!type->name.empty()) {
        names.push_back(type->name);
        for (const std::string_view alias : type->aliases) names.push_back(alias);
      }
      Json schema = OfFresh(*type, field);
      if (std::find(any.begin(), any.end(), schema) == any.end()) any.push_back(std::move(schema));
    }
    if (!names.empty()) any.push_back({{"enum", names}});
    return any.size() == 1 ? any.front() : AnyOf(std::move(any));
  }

  std::map<const Type*, std::string> names_;
  Json definitions_ = {{"${}", Pattern(kVariable)}};
};

// Returns the types of model files, which accept any parameter.
Json ModelFileTypes() {
  Json types = Json::array({kModelToEstimator});
  for (const models::ModelFile& file : models::ModelFiles()) {
    for (const std::string_view type : models::TypesOf(file)) types.push_back(type);
  }
  return {{"type", "object"},
          {"allOf", {{{"properties", {{"type", {{"enum", types}}}}}, {"required", {"type"}}}}}};
}

// Returns the schema of an item of `layers` that models/blocks/expand.h expands.
Json WrittenItem() {
  Json keys = Json::array();
  for (const char* const key : {"block", "if", "repeat", "as"}) {
    keys.push_back({{"required", {key}}});
  }
  return {{"type", "object"}, {"allOf", {AnyOf(keys)}}};
}

// Adds the keys that a model may have besides its type's own: blocks, and models of files.
void AddBlocks(Json& definitions, Json& model) {
  for (const std::string_view type :
       {models::Functional::kType, models::Sequential::kType, nn::NestedModel::kType}) {
    Json& section = definitions.at(std::string(type));
    section["patternProperties"] = {{"^(blocks|parameters)$", {{"type", "object"}}}};
    Json& items = section["properties"]["layers"]["items"]["anyOf"];
    items.push_back(ModelFileTypes());
    items.push_back(WrittenItem());
  }
  model["anyOf"].push_back(ModelFileTypes());
}

}  // namespace

Json JobSchema() {
  Job job;
  SchemaWriter writer;
  const Value value = config::ValueOf(job);
  Json schema = {{"$schema", kDialect},
                 {"title", "tpuest job"},
                 {"description", "A job of TPUEstimator: its keys are TensorFlow's arguments."}};
  schema.update(writer.Section(*value.type, value.at));
  // Keys "x-..." hold anchors, and a merge key "<<" adds keys that may be required.
  schema["patternProperties"] = {{"^x-", Json::object()}};
  Json definitions = writer.TakeDefinitions();
  AddBlocks(definitions, schema["properties"]["model"]);
  schema["$defs"] = std::move(definitions);
  return schema;
}

}  // namespace tpuest::cli
