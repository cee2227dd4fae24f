// The tree keeps to its layout, and the walk that says so sees what it should.
#include "tests/layering.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

using Faults = std::vector<std::string>;

std::string Listed(const Faults& faults) { return Join(faults, "\n"); }

TEST_CASE("the tree was found") {
  bool has_error_h = false;
  for (const Source& source : Tree()) has_error_h |= source.path == "core/base/error.h";
  CHECK(has_error_h);
}

TEST_CASE("every folder includes only lower ones") { CHECK(Listed(IncludeFaults(Tree())) == ""); }
TEST_CASE("every library links only lower ones") { CHECK(Listed(LinkFaults(Tree())) == ""); }
TEST_CASE("everything has its place") { CHECK(Listed(LayoutFaults(Tree())) == ""); }
TEST_CASE("no folder holds more than its subject") { CHECK(Listed(SizeFaults(Tree())) == ""); }
TEST_CASE("no file is too long or unfinished") { CHECK(Listed(HygieneFaults(Tree())) == ""); }

TEST_CASE("an include of a higher folder or of a stranger on the same rank is named") {
  CHECK(IncludeFaults({{"config/job.cpp", "\n#include \"data/batch.h\"\n"}}) ==
        Faults{"config/job.cpp:2: config (6) may not include data (8)"});
  CHECK(IncludeFaults({{"data/zoo.cpp", "  #  include \"models/zoo.h\"\n"}}) ==
        Faults{"data/zoo.cpp:1: data (8) may not include models (8.4)"});
  CHECK(IncludeFaults({{"core/io/crc.h", "#include \"core/kernels/sum.h\""}}) ==
        Faults{"core/io/crc.h:1: core/io (2) may not include core/kernels (2)"});
}

TEST_CASE("an include of a lower folder, of the same one, of the system or of fmt is fine") {
  CHECK(IncludeFaults({{"data/idx.cpp",
                        "#include \"data/idx.h\"\n#include \"config/job.h\"\n#include <vector>\n"
                        "#include <unistd.h>\n#include <sys/stat.h>\n#include <fmt/format.h>\n"
                        "// #include \"cli/main.h\"\n"}}) == Faults{});
}

TEST_CASE("a path that does not start at a folder of the stack is named") {
  CHECK(IncludeFaults({{"cli/main.cpp", "#include \"text.h\"\n#include \"tests/layering.h\"\n"}}) ==
        Faults{"cli/main.cpp:1: \"text.h\" is in no folder of the stack; paths start at the root",
               "cli/main.cpp:2: \"tests/layering.h\" is in no folder of the stack; paths start at "
               "the root"});
}

TEST_CASE("a library belongs to the folders that wrap it") {
  CHECK(IncludeFaults({{"data/csv.cpp", "#include <yaml-cpp/yaml.h>\n#include <zlib.h>\n"},
                       {"config/reader.cpp", "#include <yaml-cpp/yaml.h>\n"},
                       {"core/graph/shapes.cpp", "#include <Eigen/Core>\n"},
                       {"core/kernels/gemm.cpp", "#include <Eigen/Core>\n#include <dnnl.hpp>\n"},
                       {"cli/main.cpp", "#include <doctest/doctest.h>\n#include <boost/any.hpp>"},
                       {"tests/cli/main_test.cpp", "#include <doctest/doctest.h>\n"}}) ==
        Faults{"cli/main.cpp:1: doctest/doctest.h belongs to tests",
               "cli/main.cpp:2: <boost/any.hpp> is of a library that no folder wraps",
               "core/graph/shapes.cpp:1: Eigen/Core belongs to core/kernels",
               "data/csv.cpp:1: yaml-cpp/yaml.h belongs to config"});
}

TEST_CASE("generated protobuf headers pass through core/io/protos.h or stay in their folder") {
  const Source protos{"core/io/protos.h", "#include \"core/io/event.pb.h\"\n"};
  const std::string through = "#include \"core/io/protos.h\"\n";
  CHECK(IncludeFaults(
            {protos, {"core/io/events/event.cpp", through}, {"core/graph/def.cpp", through}}) ==
        Faults{});
  CHECK(IncludeFaults({{"core/hosts/links/module.cpp",
                        "#include \"core/hosts/links/link.grpc.pb.h\"\n"}}) == Faults{});
  CHECK(IncludeFaults({protos,
                       {"cli/inspect.cpp", through},
                       {"core/io/events/event.cpp", protos.text},
                       {"core/io/events/event.h", through}}) ==
        Faults{"cli/inspect.cpp:1: core/io/protos.h brings protobuf along, which belongs to "
               "core/io, core/graph, core/estimator, core/hosts/links",
               "core/io/events/event.cpp:1: core/io/event.pb.h is reached through core/io/protos.h",
               "core/io/events/event.h:1: core/io/protos.h is for .cpp files only"});
}

TEST_CASE("a library does not travel through our headers") {
  CHECK(IncludeFaults({{"core/kernels/engine.h", "#include <dnnl.hpp>\n"},
                       {"core/kernels/conv.h", "#include \"core/kernels/engine.h\"\n"},
                       {"core/kernels/conv.cpp", "#include \"core/kernels/conv.h\"\n"},
                       {"core/ops/conv.cpp", "#include \"core/kernels/conv.h\"\n"}}) ==
        Faults{"core/ops/conv.cpp:1: core/kernels/conv.h brings oneDNN along, which belongs to "
               "core/kernels"});
}

TEST_CASE("headers that include each other do not trap the walk") {
  CHECK(IncludeFaults({{"core/io/a.h", "#include \"core/io/b.h\"\n"},
                       {"core/io/b.h", "#include \"core/io/a.h\"\n"}}) == Faults{});
}

TEST_CASE("a Meson file links lower folders and its own libraries only") {
  CHECK(LinkFaults({{"core/base/meson.build", "base_dep = declare_dependency()\n"},
                    {"data/meson.build", "data_dep = declare_dependency()\n"},
                    {"config/meson.build",
                     "config_lib = static_library('config', files('data_dep.cpp'),  # data_dep\n"
                     "  dependencies: [yaml_cpp, base_dep, data_dep, cli11])\n"}}) ==
        Faults{"config/meson.build:2: config (6) may not link data (8)",
               "config/meson.build:2: CLI11 belongs to cli"});
}

TEST_CASE("what has no place in the layout is named") {
  CHECK(LayoutFaults({{"utils/text.cpp", ""},
                      {"notes.txt", ""},
                      {"core/misc/text.cpp", ""},
                      {"core/io/proto/event.proto", ""},
                      {"tests/core/misc/text_test.cpp", ""},
                      {".ci/run", ""},
                      {"core/io/event.proto", ""},
                      {"configs/mnist.yaml", ""},
                      {"tests/testdata/tf/a.index", ""},
                      {"tests/core/io/event_test.cpp", ""}}) ==
        Faults{"core/io/proto: has no rank in the stack",
               "core/misc/text.cpp: a source outside the folders of the stack",
               "notes.txt: has no place at the top level",
               "tests/core/misc: mirrors no folder of the tree",
               "utils: has no place at the top level"});
}

TEST_CASE("folders of many files, and files that would be a room, are named") {
  std::vector<Source> tree;
  for (int i = 0; i < 43; ++i) tree.push_back({"data/f" + std::to_string(i) + ".cpp", ""});
  for (int i = 0; i < 9; ++i) tree.push_back({"models/cnn_" + std::to_string(i) + ".cpp", ""});
  for (int i = 0; i < 8; ++i) tree.push_back({"config/yaml_" + std::to_string(i) + ".h", ""});
  for (int i = 0; i < 50; ++i) tree.push_back({"core/ops/f_" + std::to_string(i) + ".h", ""});
  CHECK(SizeFaults(tree) == Faults{"data: 43 files, at most 42: which rooms are in it?",
                                   "models: 9 files begin with cnn, at most 8: they are a room"});
}

TEST_CASE("long and empty files and notes of unfinished work are named") {
  std::string long_text;
  for (int line = 0; line < 601; ++line) long_text += "\n";
  const std::string note = std::string("TO") + "DO";
  CHECK(HygieneFaults({{"core/io/long.cpp", long_text},
                       {"core/io/long.yaml", long_text},
                       {"tests/core/io/none_test.cpp", ""},
                       {"dev", "# " + note + ": later\n"},
                       {"README.md", note + "S are not words of their own\n"}}) ==
        Faults{"core/io/long.cpp: 601 lines, at most 600: does it hold one subject?",
               "tests/core/io/none_test.cpp: is empty",
               "dev:1: " + note + " marks unfinished work"});
}

TEST_CASE("a tree is read from disk without what Git ignores at the top") {
  const TemporaryFolder root;
  const auto write = [&root](const std::string& path, const std::string& text) {
    MakeDirectories(DirName(root.File(path)));
    WriteFileAtomically(root.File(path), text);
  };
  write(".gitignore", "/build/\n*.pyc\n");
  write("build/config/job.h", "#include \"cli/main.h\"");
  write(".git/HEAD", "ref");
  write("config/job.h", "#include \"cli/main.h\"");
  write("config/table.bin", "bytes");

  const std::vector<Source> tree = ReadTree(root.path());
  REQUIRE(tree.size() == 3);
  CHECK(tree[1].path == "config/job.h");
  CHECK(tree[2].text == "");
  CHECK(IncludeFaults(tree) == Faults{"config/job.h:1: config (6) may not include cli (14)"});
}

}  // namespace
}  // namespace tpuest
