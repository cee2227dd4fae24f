#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/backend/pjrt/plugin.h"
#include "core/backend/pjrt/tpu_memory.h"
#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

Environment Of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  };
}

std::string Touch(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "x";
  return path;
}

TEST_CASE("a plugin is found: named, in the own folder, in the cache, in the environment") {
  const TemporaryFolder folder;
  const Environment environment = Of({{"TPUEST_PLUGINS", folder.File("own")},
                                      {"HOME", folder.File("home")},
                                      {"VIRTUAL_ENV", folder.File("venv")},
                                      {"CONDA_PREFIX", folder.File("conda")}});
  CHECK(FindPjrtPlugin("pjrt:/no/such.so", environment) == "/no/such.so");
  const std::string packages = folder.File("venv/lib/python3.11/site-packages/");
  const std::string conda =
      Touch(folder.File("conda/lib/python3.12/site-packages/libtpu/libtpu.so"));
  CHECK(FindPjrtPlugin("tpu", environment) == conda);
  const std::string package = Touch(packages + "libtpu/libtpu.so");
  CHECK(FindPjrtPlugin("tpu", environment) == package);
  const std::string cached = Touch(folder.File("home/.cache/tpuest/plugins/tpu/libtpu.so"));
  CHECK(FindPjrtPlugin("tpu", environment) == cached);
  const std::string own = Touch(folder.File("own/tpu/libtpu.so"));
  CHECK(FindPjrtPlugin("tpu", environment) == own);
  const std::string cuda = Touch(packages + "jax_plugins/xla_cuda12/xla_cuda_plugin.so");
  CHECK(FindPjrtPlugin("cuda", environment) == cuda);
  const std::string newer = Touch(packages + "xla_plugins/xla_cuda13/xla_cuda_plugin.so");
  CHECK(FindPjrtPlugin("cuda", environment) == newer);
  const std::string cpu = Touch(packages + "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  CHECK(FindPjrtPlugin("cpu-xla", environment) == cpu);
}

TEST_CASE("a plugin is found in the Python environment that the program is installed in") {
  const TemporaryFolder folder;
  const auto find = [&](std::map<std::string, std::string> variables, const std::string& program) {
    variables["HOME"] = folder.File("home");
    return FindPjrtPlugin("tpu", Of(std::move(variables)), folder.File(program));
  };
  const std::string wheel =
      Touch(folder.File("prefix/lib/python3.11/site-packages/libtpu/libtpu.so"));
  CHECK(find({}, "prefix/bin/tpuest") == wheel);
  CHECK(find({}, "prefix/lib/python3.11/site-packages/tpuest/bin/tpuest") == wheel);
  const std::string debian = Touch(folder.File("local/lib/python3/dist-packages/libtpu/libtpu.so"));
  CHECK(find({}, "local/bin/tpuest") == debian);
  // An active environment takes precedence.
  CHECK(find({{"VIRTUAL_ENV", folder.File("prefix")}}, "local/bin/tpuest") == wheel);
  // A program outside the prefix is in no environment.
  CHECK_THROWS_AS((void)find({}, "prefix/tpuest"), Error);
  CHECK_THROWS_AS((void)find({}, "prefix/build/tpuest"), Error);
}

TEST_CASE("the program's own path is known") { CHECK(BaseName(ProgramPath()) == "backend_test"); }

TEST_CASE("where no plugin is found the message says where it looked and what fetches it") {
  const TemporaryFolder folder;
  const Environment environment =
      Of({{"XDG_CACHE_HOME", folder.File("cache")}, {"VIRTUAL_ENV", folder.File("venv")}});
  try {
    // The plugin is in the active environment and is looked up once.
    (void)FindPjrtPlugin("tpu", environment, folder.File("venv/bin/tpuest"));
    FAIL("found one");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    CHECK(error.message() == "no plugin found for the device 'tpu'; looked for " +
                                 folder.File("cache/tpuest/plugins/tpu/libtpu.so, ") +
                                 folder.File("venv/lib/python3*/*-packages/libtpu/libtpu.so"));
    CHECK(error.faults()[0].hint ==
          "get it with ./dev plugins tpu, or pip install libtpu; or name its file: pjrt:PATH");
  }
  for (const char* const device : {"gpu", "pjrt:", ""}) {
    try {
      (void)FindPjrtPlugin(device, environment);
      FAIL("found one");
    } catch (const Error& error) {
      CHECK(error.message() == std::string("there is no device '") + device + "'");
    }
  }
}

TEST_CASE("the memory of a TPU's core") {
  CHECK(TpuMemoryBytes("v2:2x2x1") == int64_t{8} << 30);
  CHECK(TpuMemoryBytes("v3:4x4") == int64_t{16} << 30);
  CHECK(TpuMemoryBytes("V4:2x2x1") == int64_t{32} << 30);
  CHECK(TpuMemoryBytes("v5e:2x2") == int64_t{16} << 30);
  CHECK(TpuMemoryBytes("v5p:2x2x1") == int64_t{95} << 30);
  CHECK(TpuMemoryBytes("v6e=2x4") == int64_t{32} << 30);
  CHECK(TpuMemoryBytes("tpu7x:2x2x1") == int64_t{96} << 30);
  CHECK(TpuMemoryBytes("v9:2x2") == 0);
}

}  // namespace
}  // namespace tpuest
