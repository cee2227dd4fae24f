#pragma once
// A std::variant of many types whose copies, moves and destructor are compiled once. A std::variant
// makes a table of functions for each of them wherever one is copied or destroyed, in every source;
// for eighty types that is seconds of a compiler's time.
//
//   using Shapes = std::variant<Circle, Square>;
//   using Shape = OneOf<Shapes>;
//   extern template class OneOf<Shapes>;     // in the header, in namespace tpuest
//   template class OneOf<Shapes>;            // in one source
//
// std::visit, std::get_if and std::holds_alternative accept it as a std::variant.

#include <memory>
#include <utility>
#include <variant>

namespace tpuest {

template <class Variant>
class OneOf : public Variant {
 public:
  using Variant::Variant;
  using Variant::operator=;
  OneOf();
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();
};

// Not in the class: what is defined there is inline, and compiled in every source all the same.
template <class Variant>
OneOf<Variant>::OneOf() = default;
template <class Variant>
OneOf<Variant>::OneOf(const OneOf& other) = default;
template <class Variant>
OneOf<Variant>::OneOf(OneOf&& other) noexcept = default;
// By destructor and constructor, which are compiled anyway: assignments of their own would be as
// many functions again.
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(const OneOf& other) {
  return *this = OneOf(other);
}
template <class Variant>
OneOf<Variant>& OneOf<Variant>::operator=(OneOf&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
  }
  return *this;
}
template <class Variant>
OneOf<Variant>::~OneOf() = default;

}  // namespace tpuest
