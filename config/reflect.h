#pragma once
// A field's C++ type as data, made from the structs' Visit (core/base/visit.h), so that reading,
// schema and writing are plain functions, compiled once, and a struct costs one short template.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/base/step_count.h"
#include "core/base/visit.h"

namespace tpuest::config {

struct Type;

// A pointer to some field's value, with its type; the struct that holds the value owns it.
struct Value {
  const Type* type = nullptr;
  void* at = nullptr;
};

// A field of a struct: one line of its Visit.
struct Member {
  std::string_view name;
  Value value;
  Field field;
};

// An item of an optional, a list or a map; the key is a map's.
struct Item {
  std::string key;
  Value value;
};

// Owns a single value. This file uses neither std::shared_ptr nor std::visit: both compile slowly,
// and would be instantiated for every option.
using Fresh = std::unique_ptr<void, void (*)(void*)>;

// The operations on values of one C++ type. Functions that do not apply to its kind are null.
struct Type {
  enum class Kind {
    kBool,
    kInteger,
    kNumber,
    kString,
    kPeriod,
    kRaw,
    kOptional,
    kList,
    kMap,
    kSection,
    kVariant
  };
  Kind kind = Kind::kBool;
  Fresh (*make)() = nullptr;  // a new value

  // kInteger: set_integer is false if the number does not fit; min and max are the range for the
  // message. set_epochs is a StepCount's.
  bool (*set_integer)(void*, bool negative, uint64_t magnitude) = nullptr;
  std::string (*integer_text)(const void*) = nullptr;
  void (*set_epochs)(void*, double epochs) = nullptr;
  int64_t min = 0;
  uint64_t max = 0;

  // kOptional, kList, kMap have items.
  const Type* item = nullptr;
  void (*clear)(void*) = nullptr;
  void* (*append)(void*, const std::string& key) = nullptr;  // a new item; may move earlier items
  void (*items)(void*, std::vector<Item>&) = nullptr;
  // kOptional: a Given's; null: an absent value is null.
  bool (*is_given)(const void*) = nullptr;

  // kSection is a struct with a Visit.
  std::string_view name;                      // kType
  std::string_view summary;                   // kSummary
  std::span<const std::string_view> aliases;  // kAliases
  std::string_view type_key = "type";         // kTypeKey
  void (*members)(void*, std::vector<Member>&) = nullptr;
  Place* (*place)(void*) = nullptr;

  // kString: a Formula, which begins with its text.
  bool formula = false;

  // kVariant holds one of several types.
  std::span<const Type* const> alternatives;
  size_t (*index)(const void*) = nullptr;
  void* (*chosen)(void*) = nullptr;          // the value of the alternative held
  void* (*choose)(void*, size_t) = nullptr;  // replaces the value by a new one of that alternative
};

// False for a Given that is not given; true for every other value.
[[nodiscard]] inline bool WasGiven(const Value& value) {
  return value.type->is_given == nullptr || value.type->is_given(value.at);
}

namespace reflect {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsGiven : std::false_type {};
template <class T>
struct IsGiven<Given<T>> : std::true_type {};
template <class T>
struct IsOptional<Given<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
// The std::variant that a type is or inherits from, as OneOf (core/base/one_of.h) does.
template <class... T>
std::variant<T...>* VariantIn(std::variant<T...>* variant);
template <class T>
concept IsVariant = requires(T* value) {
  VariantIn(value);
};

template <class T>
consteval Type MakeType();

}  // namespace reflect

template <class T>
inline constexpr Type kTypeOf = reflect::MakeType<T>();

// The same as a function. A type that compiles slowly is instantiated explicitly in one source; all
// others see `extern template`.
template <class T>
[[nodiscard]] const Type* TypeOf() {
  return &kTypeOf<T>;
}

// Casts away const, because Visit is not const; callers only read the value.
template <class T>
[[nodiscard]] Value ValueOf(T& value) {
  return {TypeOf<T>(), &value};
}

// True if a struct's kType or one of its aliases is that name.
[[nodiscard]] bool IsNameOf(const Type& section, std::string_view name);

// The fields of a struct in the order of its Visit, and the items of an optional, a list or a map.
[[nodiscard]] std::vector<Member> MembersOf(const Value& section);
[[nodiscard]] std::vector<Item> ItemsOf(const Value& container);

// A member of a section's type, common to all its values.
struct TypeMember {
  std::string_view name;
  const Type* type = nullptr;
};
// The members of a section's type, in the order of its Visit. They are constants, created once from
// a separate value.
[[nodiscard]] const std::vector<TypeMember>& TypeMembersOf(const Type& section);

namespace reflect {

// The only visitor: records the members that Visit names.
class Lister {
 public:
  explicit Lister(std::vector<Member>& members) : members_(members) {}
  template <class T>
  void operator()(std::string_view name, T& value, const Field& field = {}) {
    Add(name, {TypeOf<T>(), &value}, field);
  }

 private:
  void Add(std::string_view name, Value value, const Field& field);

  std::vector<Member>& members_;
};

template <class T>
Fresh Make() {
  return {new T(), [](void* at) { delete static_cast<T*>(at); }};
}

template <class T>
bool SetInteger(void* at, bool negative, uint64_t magnitude) {
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (negative) {
    if (magnitude > (std::is_signed_v<T> ? kMax + 1 : 0)) return false;
    *static_cast<T*>(at) = static_cast<T>(0 - magnitude);
    return true;
  }
  if (magnitude > kMax) return false;
  *static_cast<T*>(at) = static_cast<T>(magnitude);
  return true;
}

template <class T>
std::string IntegerText(const void* at) {
  return std::to_string(*static_cast<const T*>(at));
}

[[nodiscard]] bool SetStepCount(void* at, bool negative, uint64_t magnitude);
[[nodiscard]] std::string StepCountText(const void* at);
void SetEpochs(void* at, double epochs);

template <class T>
void Clear(void* at) {
  if constexpr (IsOptional<T>::value) {
    static_cast<T*>(at)->reset();
  } else {
    static_cast<T*>(at)->clear();
  }
}

template <class T>
void* Append(void* at, const std::string& key) {
  T& container = *static_cast<T*>(at);
  if constexpr (IsOptional<T>::value) {
    return &container.emplace();
  } else if constexpr (IsMap<T>::value) {
    return &container[key];
  } else {
    return &container.emplace_back();
  }
}

template <class T>
void Items(void* at, std::vector<Item>& items) {
  T& container = *static_cast<T*>(at);
  if constexpr (IsOptional<T>::value) {
    if (container.has_value()) items.push_back({"", ValueOf(*container)});
  } else if constexpr (IsMap<T>::value) {
    for (auto& [key, value] : container) items.push_back({key, ValueOf(value)});
  } else {
    for (auto& value : container) items.push_back({"", ValueOf(value)});
  }
}

template <class T>
void Members(void* at, std::vector<Member>& members) {
  Lister lister(members);
  static_cast<T*>(at)->Visit(lister);
}

template <class T>
Place* PlaceOf(void* at) {
  return &static_cast<T*>(at)->place;
}

template <class V,
          class Base = std::remove_pointer_t<decltype(VariantIn(static_cast<V*>(nullptr)))>>
struct VariantOf;
template <class V, class... T>
struct VariantOf<V, std::variant<T...>> {
  static constexpr std::array<const Type*, sizeof...(T)> kAlternatives = {&kTypeOf<T>...};

  static size_t Index(const void* at) { return static_cast<const V*>(at)->index(); }
  template <class A>
  static void* Get(V& variant) {
    return std::get_if<A>(&variant);
  }
  static void* Chosen(void* at) {
    static constexpr std::array<void* (*)(V&), sizeof...(T)> kGet = {&Get<T>...};
    return kGet.at(Index(at))(*static_cast<V*>(at));
  }
  template <class A>
  static void* Emplace(V& variant) {
    return &variant.template emplace<A>();
  }
  static void* Choose(void* at, size_t index) {
    static constexpr std::array<void* (*)(V&), sizeof...(T)> kEmplace = {&Emplace<T>...};
    return kEmplace.at(index)(*static_cast<V*>(at));
  }
};

template <class T>
consteval Type SectionType() {
  Type type{.kind = Type::Kind::kSection, .make = &Make<T>};
  if constexpr (requires { T::kType; }) type.name = T::kType;
  if constexpr (requires { T::kSummary; }) type.summary = T::kSummary;
  if constexpr (requires { T::kAliases; }) type.aliases = T::kAliases;
  if constexpr (requires { T::kTypeKey; }) type.type_key = T::kTypeKey;
  if constexpr (requires(T & t) { static_cast<Place&>(t.place); }) type.place = &PlaceOf<T>;
  type.members = &Members<T>;
  return type;
}

template <class T>
consteval Type ContainerType(Type::Kind kind) {
  static_assert(!std::is_same_v<T, std::vector<bool>>, "its items have no address");
  return {.kind = kind,
          .make = &Make<T>,
          .item =
              [] {
                if constexpr (IsMap<T>::value) {
                  return &kTypeOf<typename T::mapped_type>;
                } else {
                  return &kTypeOf<typename T::value_type>;
                }
              }(),
          .clear = &Clear<T>,
          .append = &Append<T>,
          .items = &Items<T>};
}

template <class T>
consteval Type VariantType() {
  return {.kind = Type::Kind::kVariant,
          .make = &Make<T>,
          .alternatives = VariantOf<T>::kAlternatives,
          .index = &VariantOf<T>::Index,
          .chosen = &VariantOf<T>::Chosen,
          .choose = &VariantOf<T>::Choose};
}

template <class T>
consteval Type MakeType() {
  using Kind = Type::Kind;
  if constexpr (std::is_same_v<T, bool>) {
    return {.kind = Kind::kBool, .make = &Make<T>};
  } else if constexpr (std::is_integral_v<T>) {
    return {.kind = Kind::kInteger,
            .make = &Make<T>,
            .set_integer = &SetInteger<T>,
            .integer_text = &IntegerText<T>,
            .min = static_cast<int64_t>(std::numeric_limits<T>::min()),
            .max = static_cast<uint64_t>(std::numeric_limits<T>::max())};
  } else if constexpr (std::is_same_v<T, StepCount>) {
    return {.kind = Kind::kInteger,
            .make = &Make<T>,
            .set_integer = &SetStepCount,
            .integer_text = &StepCountText,
            .set_epochs = &SetEpochs,
            .min = std::numeric_limits<int64_t>::min(),
            .max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max())};
  } else if constexpr (std::is_same_v<T, double>) {
    return {.kind = Kind::kNumber, .make = &Make<T>};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {.kind = Kind::kString, .make = &Make<T>};
  } else if constexpr (std::is_same_v<T, Formula>) {
    // A pointer to one is a pointer to its text.
    static_assert(std::is_standard_layout_v<Formula> && offsetof(Formula, text) == 0);
    return {.kind = Kind::kString, .make = &Make<T>, .formula = true};
  } else if constexpr (std::is_same_v<T, Period>) {
    return {.kind = Kind::kPeriod, .make = &Make<T>};
  } else if constexpr (std::is_same_v<T, Raw>) {
    return {.kind = Kind::kRaw, .make = &Make<T>};
  } else if constexpr (IsGiven<T>::value) {
    Type type = ContainerType<T>(Kind::kOptional);
    type.is_given = [](const void* at) { return static_cast<const T*>(at)->is_given(); };
    return type;
  } else if constexpr (IsOptional<T>::value) {
    return ContainerType<T>(Kind::kOptional);
  } else if constexpr (IsList<T>::value) {
    return ContainerType<T>(Kind::kList);
  } else if constexpr (IsMap<T>::value) {
    return ContainerType<T>(Kind::kMap);
  } else if constexpr (IsVariant<T>) {
    return VariantType<T>();
  } else {
    static_assert(std::is_class_v<T>, "not a type that an option can have; see core/base/visit.h");
    return SectionType<T>();
  }
}

}  // namespace reflect
}  // namespace tpuest::config
