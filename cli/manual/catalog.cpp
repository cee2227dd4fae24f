#include "cli/manual/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "cli/job/job.h"
#include "cli/job/keras_model.h"
#include "models/model_files.h"

namespace tpuest::cli {
namespace {

using config::Fresh;
using config::Member;
using config::Type;

// Maximum number of listed keys that may have a type.
constexpr size_t kMostPlaces = 4;

constexpr std::string_view kOfKeras = "a saved Keras model, with its weights and compile settings";

constexpr Kind kKinds[] = {
    {"models", "model", "types of `model`"},
    {"layers", "layer", "types of `layers` in a Sequential or Functional model"},
    {"heads", "head", "parts that compute loss, predictions and metrics from a model's logits"},
    {"outputs", "export output", "types of a CustomHead's `export_outputs`"},
    {"metrics", "metric", "metrics that `metrics` adds to those of the head"},
    {"columns", "feature column", "types of `feature_columns`"},
    {"normalizers", "normalizer", "types of a numeric column's `normalizer_fn`"},
    {"optimizers", "optimizer", "types of `optimizer`"},
    {"table_optimizers", "table optimizer", "optimizers of the tables in embedding_config_spec"},
    {"schedules", "schedule", "types of `learning_rate`, besides a number and a formula"},
    {"warmups", "warmup", "types of a schedule's `warmup`"},
    {"initializers", "initializer", "initial values of variables"},
    {"regularizers", "regularizer", "terms added to the loss for the size of a variable"},
    {"constraints", "constraint", "limits applied to variables after each update"},
    {"sources", "source", "where the records of an input_fn come from"},
    {"features", "feature", "types of the `features` of a tf.Example"},
    {"ops", "map op", "steps of `map`, which change the features of a record or batch"},
    {"hooks", "hook", "objects called between steps"},
    {"exporters", "exporter", "types of `eval_spec.exporters`"},
    {"receivers", "serving input receiver", "input formats of an exported model"}};

// A key that holds sections with types, by its name or the end of it, and their kind.
struct KeyKind {
  std::string_view key;
  std::string_view kind;
};
constexpr KeyKind kKeyKinds[] = {{"model", "models"},
                                 {"layers", "layers"},
                                 {"head", "heads"},
                                 {"heads", "heads"},
                                 {"export_outputs", "outputs"},
                                 {"metrics", "metrics"},
                                 {"feature_columns", "columns"},
                                 {"normalizer_fn", "normalizers"},
                                 {"optimizer", "optimizers"},
                                 {"linear_optimizer", "optimizers"},
                                 {"dnn_optimizer", "optimizers"},
                                 {"optimization_parameters", "table_optimizers"},
                                 {"learning_rate", "schedules"},
                                 {"learning_rate_fn", "schedules"},
                                 {"experimental_gradient_multiplier_fn", "schedules"},
                                 {"warmup", "warmups"},
                                 {"initializer", "initializers"},
                                 {"regularizer", "regularizers"},
                                 {"constraint", "constraints"},
                                 {"source", "sources"},
                                 {"datasets", "sources"},
                                 {"parse_example", "features"},
                                 {"features", "features"},
                                 {"map", "ops"},
                                 {"hooks", "hooks"},
                                 {"saving_listeners", "hooks"},
                                 {"exporters", "exporters"},
                                 {"serving_input_receiver_fn", "receivers"}};

// "" for a key that is not listed.
std::string_view KindOf(std::string_view key) {
  for (const KeyKind& known : kKeyKinds) {
    if (key == known.key) return known.kind;
  }
  for (const KeyKind& known : kKeyKinds) {
    const bool ends = key.ends_with(known.key) && key.size() > known.key.size();
    if (ends && key[key.size() - known.key.size() - 1] == '_') return known.kind;
  }
  return "";
}

std::string Joined(const std::string& path, std::string_view step) {
  return path.empty() ? std::string(step) : fmt::format("{}.{}", path, step);
}

// Walks the declarations once; a type that was met is not entered again.
class Collector {
 public:
  void Section(const Type& type, void* at, const std::string& path) {
    // A struct that holds itself would have no end.
    if (std::find(open_.begin(), open_.end(), &type) != open_.end()) return;
    open_.push_back(&type);
    for (const Member& member : config::MembersOf({&type, at})) {
      const std::string here = Joined(path, member.name);
      keys_->push_back(config::KeyOf(member, here));
      const std::string place = owner_.empty() ? here : Joined(owner_, here);
      const std::string_view outer = std::exchange(key_, member.name);
      Inside(*member.value.type, member.value.at, here, place);
      key_ = outer;
    }
    open_.pop_back();
  }

  [[nodiscard]] Catalog Take() {
    for (const auto& entry : entries_) catalog_.types.push_back(std::move(*entry));
    return std::move(catalog_);
  }

 private:
  // What a key holds: `path` from its section on, `place` from the job or from the type's name on.
  void Inside(const Type& type, void* at, const std::string& path, const std::string& place) {
    switch (type.kind) {
      case Type::Kind::kOptional:
        return Inside(*type.item, nullptr, path, place);
      case Type::Kind::kList:
        return Inside(*type.item, nullptr, path + "[]", place + "[]");
      case Type::Kind::kMap:
        return Inside(*type.item, nullptr, Joined(path, "<name>"), Joined(place, "<name>"));
      case Type::Kind::kVariant:
        for (const Type* const alternative : type.alternatives) {
          Inside(*alternative, nullptr, path, place);
        }
        return;
      case Type::Kind::kSection: {
        if (!type.name.empty()) return Named(type, place);
        const Fresh fresh = at == nullptr ? type.make() : Fresh(nullptr, nullptr);
        return Section(type, at == nullptr ? fresh.get() : at, path);
      }
      default:
        return;
    }
  }

  void Named(const Type& type, const std::string& place) {
    TypeEntry*& entry = known_[&type];
    if (entry == nullptr) {
      entries_.push_back(std::make_unique<TypeEntry>());
      entry = entries_.back().get();
      entry->kind = KindOf(key_);
      entry->name = type.name;
      entry->aliases.assign(type.aliases.begin(), type.aliases.end());
      entry->summary = type.summary;
      entry->type_key = type.type_key;
      entry->places = {place};
      const auto outer_keys = std::exchange(keys_, &entry->keys);
      const std::string outer_owner = std::exchange(owner_, entry->name);
      const Fresh fresh = type.make();
      Section(type, fresh.get(), "");
      owner_ = outer_owner;
      keys_ = outer_keys;
    } else if (entry->places.size() < kMostPlaces) {
      entry->places.push_back(place);
    }
  }

  Catalog catalog_;
  std::vector<config::SchemaKey>* keys_ = &catalog_.keys;
  std::vector<std::unique_ptr<TypeEntry>> entries_;
  std::map<const Type*, TypeEntry*> known_;
  std::vector<const Type*> open_;
  std::string owner_;     // the type whose keys are walked
  std::string_view key_;  // the key whose value is walked
};

// Models that files hold, and the one that Keras saved, are no declarations, but types of `model`.
void AddModelFiles(std::vector<TypeEntry>& types) {
  const auto add = [&](std::string_view name, std::string_view summary) {
    types.push_back({"models", std::string(name), {}, std::string(summary), "type", {"model"}, {}});
  };
  add(kModelToEstimator, kOfKeras);
  for (const models::ModelFile& file : models::ModelFiles()) {
    for (const std::string_view type : models::TypesOf(file)) add(type, models::SummaryOf(file));
  }
}

// By kind, and there in alphabetical order.
void Sort(std::vector<TypeEntry>& types) {
  const auto rank = [](const TypeEntry& type) {
    const std::string_view kind = type.kind;
    return std::find_if(std::begin(kKinds), std::end(kKinds),
                        [&](const Kind& known) { return known.name == kind; }) -
           std::begin(kKinds);
  };
  const auto lower = [](std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
  };
  std::stable_sort(types.begin(), types.end(), [&](const TypeEntry& a, const TypeEntry& b) {
    if (a.kind != b.kind) return rank(a) < rank(b);
    return lower(a.name) < lower(b.name);
  });
}

Catalog MakeCatalog() {
  Collector collector;
  Job job;
  const config::Value value = config::ValueOf(job);
  collector.Section(*value.type, value.at, "");
  Catalog catalog = collector.Take();
  AddModelFiles(catalog.types);
  Sort(catalog.types);
  return catalog;
}

}  // namespace

std::span<const Kind> Kinds() { return kKinds; }

const Kind* FindKind(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const Kind& kind) { return kind.name == name || kind.one == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

const Kind* KindHeldBy(std::string_view key) { return FindKind(KindOf(key)); }

const Catalog& JobCatalog() {
  static const Catalog kCatalog = MakeCatalog();
  return kCatalog;
}

std::vector<const TypeEntry*> TypesOf(const Kind& kind) {
  std::vector<const TypeEntry*> types;
  for (const TypeEntry& type : JobCatalog().types) {
    if (type.kind == kind.name) types.push_back(&type);
  }
  return types;
}

}  // namespace tpuest::cli
