// Types are named once per namespace, and classes are short.
#include "tests/type_names.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace tpuest {
namespace {

using Faults = std::vector<std::string>;

// Classes that are still over 250 lines.
const std::set<std::string, std::less<>> kLongClasses = {
    "tests/bench/vision_loop.cpp Loop",
    "tests/core/ops/random_graphs.cpp Maker",
};

TEST_CASE("every type is defined once in its namespace") {
  CHECK(Join(TypeNameFaults(Tree()), "\n") == "");
}

TEST_CASE("only the exceptions have more than 250 lines, and each exception is needed") {
  CHECK(Join(LongClassFaults(Tree(), kLongClasses), "\n") == "");
}

// The faults of a tree whose first file defines every kind of type in namespace a.
Faults FaultsBeside(const std::string& text) {
  return TypeNameFaults({{"core/io/a.h",
                          "namespace a {\n"
                          "class Class : public Base<int> { int i = 0; };\n"
                          "struct Struct final {};\n"
                          "template <class T> struct Template {};\n"
                          "union Union { int i; };\n"
                          "enum class Enum : int { kOne };\n"
                          "using Alias = int;\n"
                          "}  // namespace a\n"},
                         {"core/io/b.h", text}});
}

TEST_CASE("a type that two files define in one namespace is named") {
  CHECK(FaultsBeside("namespace a {\n\nclass [[nodiscard]] Class {};\n}\n") ==
        Faults{"core/io/b.h:3: a::Class is also defined at core/io/a.h:2"});
  CHECK(FaultsBeside("namespace a { struct alignas(64) Struct : X {}; }") ==
        Faults{"core/io/b.h:1: a::Struct is also defined at core/io/a.h:3"});
  for (const std::string definition :
       {"template <class T, class... U> using Template = U<T>;", "struct Union {};",
        "enum Enum { kTwo };", "using Alias = float;",
        R"-(#define F(x) \
  {
/* { */ const char* s = "{" R"x({)" )x"; int c = '{' + 1'000;
struct Class {};)-"}) {
    CAPTURE(definition);
    CHECK(FaultsBeside("namespace a { " + definition + " }").size() == 1);
    CHECK(FaultsBeside("namespace b { " + definition + " }").empty());
  }
}

TEST_CASE("definitions of what another file declares are not compared") {
  const std::string text = "struct a::Hidden {};";
  CHECK(TypeNameFaults({{"tests/a.cpp", text}, {"tests/b.cpp", text}}).empty());
}

TEST_CASE("nested namespaces and extern \"C\" do not hide a second definition") {
  const Source outer{"cli/a.h", "namespace a { namespace b { struct C {}; } struct D {}; }"};
  const auto faults_of = [&](const std::string& text) {
    return TypeNameFaults({outer, {"cli/b.h", text}});
  };
  CHECK(faults_of("namespace a::b { struct C {}; struct D {}; }").size() == 1);
  CHECK(faults_of("namespace a { extern \"C\" { struct D {}; struct C {}; } }").size() == 1);
  CHECK(faults_of("struct C {}; struct D {};").empty());
}

TEST_CASE("forward declarations, specializations and types inside others are not named") {
  for (const std::string text :
       {"namespace { struct Class {}; }", "class Class;", "enum class Enum : int;",
        "template <> struct Template<int> {};",
        "struct Other { struct Class {}; using Alias = X; };",
        "void F() { using Alias = int; struct Struct {}; }", "struct Struct F() {}",
        "struct Struct value{};", "void F(struct Struct* s) {}", "struct Class::Part {};",
        "template <class Class> void F() {}", "using b::Class;", "friend class Class;",
        "// class Class {};\n"}) {
    CAPTURE(text);
    CHECK(FaultsBeside("namespace a { " + text + " }").empty());
  }
}

std::string ClassOfLines(const std::string& head, int lines) {
  std::string text = head + " {\n";
  for (int line = 2; line < lines; ++line) text += "  void F() {}\n";
  return text + "};\n";
}

TEST_CASE("a class of more than 250 lines is named wherever it is") {
  const std::string nested = "namespace { void F() {\n" + ClassOfLines("struct Local", 251) + "} }";
  CHECK(LongClassFaults({{"cli/a.h", ClassOfLines("class Short", 250)},
                         {"cli/b.cpp", ClassOfLines("template <class T> class Long : Base", 251)},
                         {"cli/c.cpp", nested},
                         {"cli/d.cpp", ClassOfLines("void F()", 300)},
                         {"cli/e.txt", ClassOfLines("class Text", 300)}},
                        {}) ==
        Faults{"cli/b.cpp:1: Long has 251 lines, at most 250: does it have one subject?",
               "cli/c.cpp:2: Local has 251 lines, at most 250: does it have one subject?"});
}

TEST_CASE("an exception holds for one class, and a test fails when it is no longer needed") {
  const std::vector<Source> tree = {{"cli/a.cpp", ClassOfLines("class A", 251)},
                                    {"cli/b.cpp", ClassOfLines("class A", 250)}};
  CHECK(LongClassFaults(tree, {"cli/a.cpp A"}) == Faults{});
  CHECK(LongClassFaults(tree, {"cli/a.cpp A", "cli/b.cpp A"}) ==
        Faults{"cli/b.cpp A has at most 250 lines: remove it from the exceptions"});
}

}  // namespace
}  // namespace tpuest
