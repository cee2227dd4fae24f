#include "core/base/one_of.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace tpuest {

namespace {

struct Named {
  std::string name;
};
struct Tree;
using ShapeTypes = std::variant<int, Named, Tree>;
using Shape = OneOf<ShapeTypes>;
// A value may contain others of its type.
struct Tree {
  std::vector<Shape> below;
};

std::string TextOf(const Shape& shape) {
  struct Text {
    std::string operator()(int number) const { return std::to_string(number); }
    std::string operator()(const Named& named) const { return named.name; }
    std::string operator()(const Tree& tree) const {
      std::string text = "(";
      for (const Shape& below : tree.below) text += TextOf(below) + " ";
      return text + ")";
    }
  };
  return std::visit(Text(), shape);
}

TEST_CASE("a OneOf is the std::variant that it inherits from") {
  const Shape shape = Named{"square"};
  CHECK(std::holds_alternative<Named>(shape));
  REQUIRE(std::get_if<Named>(&shape) != nullptr);
  CHECK(std::get<Named>(shape).name == "square");
  CHECK(shape.index() == 1);
  CHECK(std::get<int>(Shape()) == 0);
  CHECK(TextOf(Tree{{Shape(1), Shape(Named{"a"}), Shape(Tree{})}}) == "(1 a () )");
}

TEST_CASE("a OneOf is copied, moved and assigned as its value is, to itself as well") {
  Shape shape = Named{"a name that is longer than a string's own room"};
  const Shape copy = shape;
  CHECK(TextOf(copy) == TextOf(shape));
  Shape moved = std::move(shape);
  CHECK(TextOf(moved) == TextOf(copy));
  Shape number = 7;
  number = copy;
  CHECK(TextOf(number) == TextOf(copy));
  const Shape& same = number;
  number = same;
  CHECK(TextOf(number) == TextOf(copy));
  number = Shape(8);
  CHECK(TextOf(number) == "8");
  number = Named{"of an alternative"};
  CHECK(TextOf(number) == "of an alternative");
  // Assigns a part of the value to the value: it is copied before the old value is destroyed.
  Shape tree = Tree{{Shape(1), Shape(Named{"leaf"})}};
  tree = std::get<Tree>(tree).below[1];
  CHECK(TextOf(tree) == "leaf");
}

TEST_CASE("containers move a OneOf") {
  static_assert(std::is_nothrow_move_constructible_v<Shape>);
  std::vector<Shape> shapes;
  for (int i = 0; i < 20; ++i) shapes.emplace_back(Named{std::to_string(i)});
  CHECK(TextOf(shapes[19]) == "19");
  std::optional<Shape> none;
  none = shapes[3];
  CHECK(TextOf(*none) == "3");
}

}  // namespace

template class OneOf<ShapeTypes>;

}  // namespace tpuest
