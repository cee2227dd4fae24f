// No name of a file below a model_dir is spelt twice.
#include "tests/file_names.h"

#include <doctest/doctest.h>

#include "core/base/text.h"

namespace tpuest {
namespace {

using Faults = std::vector<std::string>;

const char* const kMaker = "core/estimator/model_dir/model_dir.cpp";

TEST_CASE("no file name below a model_dir is spelt twice") {
  CHECK(Join(FileNameFaults(Tree()), "\n") == "");
}

TEST_CASE("a path, a part of one and a folder before a name spell it") {
  const Source maker{kMaker, "F(\"log.txt\");\n"};
  const auto faults_of = [&](const std::string& text) {
    return FileNameFaults({maker, {"cli/run/a.cpp", text}});
  };
  CHECK(faults_of("\nOpen(\"log.txt\");\n") ==
        Faults{"cli/run/a.cpp:2: spells 'log.txt', which "
               "core/estimator/model_dir/model_dir.cpp:1 makes"});
  CHECK(faults_of("JoinPath(folder, \".tpuest/log.txt\");").size() == 1);
  CHECK(faults_of("Say(\"{}/log.txt says why\");").size() == 1);
  CHECK(faults_of("Say(\"see log.txt of the run\");  // log.txt\n").empty());
  CHECK(faults_of("char c = '\"'; // \"log.txt\"\n#include \"log.txt\"\n").empty());
  CHECK(FileNameFaults({maker, {"tests/cli/a.cpp", "\"log.txt\""}}).empty());
}

TEST_CASE("a plain word is a name where a path is put together") {
  const Source maker{kMaker, "F(\"lock\");\n"};
  CHECK(FileNameFaults({maker, {"cli/a.cpp", "Key(\"lock\"); JoinPath(F(a), b); Key(\"lock\");"}})
            .empty());
  CHECK(FileNameFaults({maker, {"cli/a.cpp", "JoinPath(F(a), \"lock\");"}}).size() == 1);
}

TEST_CASE("no other file puts a name behind a model_dir") {
  CHECK(FileNameFaults({{"cli/a.cpp", "JoinPath(run.model_dir, is ? \"a\" : F(b));"}}) ==
        Faults{"cli/a.cpp:1: makes 'a' below a model_dir"});
  CHECK(FileNameFaults({{"cli/a.cpp", "JoinPath(F(model_dir), name); Key(\"a\");"}}).empty());
}

TEST_CASE("an ending is one behind what it follows, and no key of a job") {
  const Source maker{"core/io/bundle.h", "constexpr a = \".index\";\n"};
  CHECK(FileNameFaults({maker, {"cli/a.cpp", "F(\"tpuest.fold.index\");"}}).empty());
  CHECK(FileNameFaults({maker, {"cli/a.cpp", "F(\".index\"); F(\"{}.index\");"}}).size() == 2);
}

TEST_CASE("a name that is made twice is named") {
  CHECK(FileNameFaults({{kMaker, "F(\"best\");\nG(\"best\");\n"}}) ==
        Faults{"core/estimator/model_dir/model_dir.cpp:2: spells 'best', which "
               "core/estimator/model_dir/model_dir.cpp:1 makes"});
}

}  // namespace
}  // namespace tpuest
