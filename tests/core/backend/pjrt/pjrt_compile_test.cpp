// Real plugins: the answers of XLA's CPU plugin, and of libtpu if ./dev plugins tpu fetched it, to
// modules.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <optional>

#include "core/backend/hlo/builder.h"
#include "core/backend/pjrt/client.h"
#include "core/backend/pjrt/topology.h"
#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/cpu_plugin.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

// Returns what a function writes to stderr.
std::string StderrOf(const std::function<void()>& run) {
  const TemporaryFolder folder;
  const std::string path = folder.File("stderr");
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  const int saved = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  ::dup2(file, STDERR_FILENO);
  run();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(file);
  return ReadFile(path);
}

// x [rows, 128] times a kernel [128, 128], summed over this number of replicas.
std::string Module(int64_t rows, int replicas) {
  HloBuilder hlo;
  hlo.SetLocation("features", {});
  const HloValue x = hlo.Argument(DType::kFloat, Shape({rows, 128}));
  hlo.SetLocation("dense/kernel", {"job.yaml", 7, 3});
  const HloValue kernel = hlo.Argument(DType::kFloat, Shape({128, 128}));
  hlo.SetLocation("dense/MatMul", {"job.yaml", 7, 3});
  const HloValue y = hlo.Dot(x, kernel, {{}, {}, {1}, {0}});
  return hlo.Finish({hlo.AllReduceSum(y, replicas)});
}

// A call of a function that no plugin has.
std::string UnknownCall() {
  HloBuilder hlo;
  const HloValue x = hlo.Argument(DType::kFloat, Shape({2}));
  hlo.SetLocation("dense/Strange", {"a job.yaml", 12, 5});
  return hlo.Finish({hlo.Op("custom_call", {x}, "{call_target_name = \"no_such_function\"}", "",
                            DType::kFloat, Shape({2}))});
}

Error CompileError(const std::function<void()>& compile) {
  try {
    compile();
  } catch (const Error& error) {
    return error;
  }
  return {Code::kInternal, "it was compiled"};
}

TEST_CASE("XLA's CPU plugin says nothing itself") {
  const std::string path = CpuPlugin();
  std::optional<Error> error;
  const std::string written = StderrOf([&] {
    const auto client = LoadPjrtPlugin(path, 2);
    (void)client->Compile(Module(8, 2), {.replicas = 2});
    error = CompileError([&] {
      const auto executable = client->Compile(UnknownCall(), {});
      (void)executable->Execute({{client->ToDevice(Tensor(DType::kFloat, Shape({2})), 0).get()}});
    });
  });
  CHECK(written.empty());
  REQUIRE(error.has_value());
  CHECK(error->message().find("no_such_function") != std::string::npos);
}

// Empty if libtpu is missing.
std::string Libtpu() {
  try {
    return FindPjrtPlugin("tpu");
  } catch (const Error&) {
    MESSAGE("there is no libtpu: ./dev plugins tpu");
    return "";
  }
}

TEST_CASE("libtpu compiles for TPUs that are not there, and says nothing itself") {
  const std::string path = Libtpu();
  if (path.empty()) return;
  struct Case {
    const char* name;
    int cores;
  };
  const std::string written = StderrOf([&] {
    for (const Case& each : {Case{"v5e:2x2", 4}, Case{"v2:2x2x1", 8}, Case{"v4:2x2x1", 4}}) {
      const auto topology = OpenTopology(path, each.name);
      CAPTURE(each.name);
      CHECK(topology->info().cores == each.cores);
      CHECK(topology->info().platform == "tpu");
      CHECK(topology->info().limit > topology->info().memory * 9 / 10);
      const CompiledSize size = topology->Compile(Module(256, each.cores), each.cores);
      CHECK(size.code > 0);
      CHECK(size.arguments == (256 + 128) * 128 * 4);
      CHECK(size.outputs == 256 * 128 * 4);
      CHECK(size.flops.value_or(0) > 2 * 256 * 128 * 128);
      CHECK_FALSE(size.shortage.has_value());
    }
  });
  CHECK(written.empty());
  const auto topology = OpenTopology(path, "v5e:2x2");
  CHECK(topology->ArgumentBytes(DType::kFloat, Shape({1000, 128})) == 1000 * 128 * 4);
  CHECK(topology->ArgumentBytes(DType::kFloat, Shape({1000, 10})) == 1024 * 16 * 4);
  CHECK(topology->ArgumentBytes(DType::kFloat, Shape({int64_t{1} << 33})) == 0);
  const CompiledSize large = topology->Compile(Module(int64_t{1} << 25, 4), 4);
  REQUIRE(large.shortage.has_value());
  CHECK(large.shortage->needed > int64_t{16} << 30);
  CHECK(large.shortage->available == doctest::Approx(15.75 * (1 << 30)));
  CHECK(large.shortage->largest[0].bytes == int64_t{16} << 30);
  const Error unknown = CompileError([&] { (void)topology->Compile(UnknownCall(), 1); });
  CHECK(unknown.code() == Code::kUsage);
  CHECK(unknown.faults()[0].place.file == "a job.yaml");
  CHECK(unknown.faults()[0].place.line == 12);
  CHECK_THROWS_AS((void)OpenTopology(path, "v5e:3x5"), Error);
  CHECK_THROWS_AS((void)OpenTopology(path, "v99:2x2"), Error);
}

}  // namespace
}  // namespace tpuest
