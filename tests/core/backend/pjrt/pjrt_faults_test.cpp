// Faults of plugins, produced by plugins made for this purpose.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "core/backend/pjrt/c_api.h"
#include "core/backend/pjrt/client.h"
#include "core/backend/pjrt/topology.h"
#include "core/base/error.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

std::string Fake(std::string_view fault) { return fmt::format("{}/libfake_{}.so", FAKES, fault); }

std::string Versions(int major, int minor) {
  return fmt::format("version {}.{} of the PJRT interface, tpuest was built for {}.{}", major,
                     minor, pjrt::kApiMajor, pjrt::kApiMinor);
}

// The error of loading a plugin as a client.
Error LoadingFails(const std::string& path) {
  try {
    (void)LoadPjrtPlugin(path, 0);
  } catch (const Error& error) {
    return error;
  }
  return {Code::kInternal, "it was loaded"};
}

TEST_CASE("a plugin that cannot be used: one message with the file and the versions") {
  const auto check = [](const std::string& path, const std::string& message) {
    const Error error = LoadingFails(path);
    CHECK(error.code() == Code::kUsage);
    CHECK(error.faults().size() == 1);
    CHECK(error.message() == path + message);
  };
  check("no/such.so", ": this plugin does not exist");
  check(Fake("no_get_api"), ": not a PJRT plugin: it has no GetPjrtApi");
  check(Fake("other_major"), ": has " + Versions(pjrt::kApiMajor + 3, 4));
  check(Fake("old"),
        ": has no PJRT_LoadedExecutable_Execute: it has " + Versions(pjrt::kApiMajor, 5));
  check(Fake("fail_initialize"), ": the plugin does not start: no driver (it has " +
                                     Versions(pjrt::kApiMajor, pjrt::kApiMinor) + ")");
  check(Fake("fail_create"), ": the plugin does not start: no device is free (it has " +
                                 Versions(pjrt::kApiMajor, pjrt::kApiMinor) + ")");
}

TEST_CASE("a file that is no library") {
  const TemporaryFolder folder;
  const std::string path = folder.File("text.so");
  std::ofstream(path) << "no library";
  const Error error = LoadingFails(path);
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() == path + ": not a PJRT plugin: file too short");
}

// The error of running a program on a plugin that has started.
Error RunningFails(const std::string& path) {
  const auto client = LoadPjrtPlugin(path, 0);
  CHECK(client->devices() == 2);
  const auto executable = client->Compile("module", {});
  try {
    (void)executable->Execute({{}});
  } catch (const Error& error) {
    return error;
  }
  return {Code::kInternal, "it ran"};
}

TEST_CASE("a device that is lost: when a program starts, or later") {
  const Error at_start = RunningFails(Fake("fail_execute"));
  CHECK(at_start.code() == Code::kLost);
  CHECK(at_start.message() == Fake("fail_execute") + ": running a program: the device went away");
  const Error later = RunningFails(Fake("fail_await"));
  CHECK(later.code() == Code::kLost);
  CHECK(later.message() == Fake("fail_await") + ": running a program: the device stopped");
}

// Contains the node that the plugin names.
const std::string kModule = "#loc0 = loc(\"conv/Conv2D\"(\"job.yaml\":12:5))\n";

TEST_CASE("a program that a compiler refuses leads to the job's line") {
  const auto client = LoadPjrtPlugin(Fake("fail_await"), 0);
  const auto topology = OpenTopology(Fake("fail_await"), "v5e:1x2");
  const auto check = [](auto&& compile) {
    try {
      compile();
      FAIL("compiled");
    } catch (const Error& error) {
      CHECK(error.code() == Code::kUsage);
      CHECK(error.faults()[0].place.file == "job.yaml");
      CHECK(error.faults()[0].place.line == 12);
      CHECK(error.message().find(": compiling 'conv/Conv2D': no such op") != std::string::npos);
    }
  };
  check([&] { (void)client->Compile("unknown_op\n" + kModule, {}); });
  check([&] { (void)topology->Compile("unknown_op\n" + kModule, 1); });
}

TEST_CASE("a program for a topology is measured") {
  const auto topology = OpenTopology(Fake("fail_await"), "v5e:1x2");
  const TopologyInfo& info = topology->info();
  CHECK(info.name == "v5e:1x2");
  CHECK(info.platform == "tpu");
  CHECK(info.kind == "TPU v5 lite");
  CHECK(info.cores == 2);
  CHECK(info.limit == 1000);
  CHECK(info.memory == int64_t{16} << 30);
  const CompiledSize size = topology->Compile(kModule, 2);
  CHECK(size.code == 1);
  CHECK(size.arguments == 2);
  CHECK(size.outputs == 3);
  CHECK(size.aliased == 4);
  CHECK(size.temporaries == 5);
  CHECK(size.peak == 6);
  CHECK(size.flops == 7.0);
  CHECK_FALSE(size.bytes_accessed.has_value());
  CHECK_FALSE(size.shortage.has_value());
  CHECK(topology->ArgumentBytes(DType::kFloat, Shape({3})) == 2);
  CHECK_THROWS_WITH_AS(
      (void)topology->Compile(kModule, 3),
      "TPUConfig.num_shards is not set correctly. v5e:1x2 has 2 cores: num_replicas "
      "should be at most (2), got (3)",
      Error);
}

TEST_CASE("a program that does not fit is no error yet") {
  const auto topology = OpenTopology(Fake("fail_await"), "v5e:1x2");
  const CompiledSize size = topology->Compile("too_large\n" + kModule, 1);
  REQUIRE(size.shortage.has_value());
  CHECK(size.shortage->needed == int64_t{20} << 30);
  CHECK(size.shortage->available == int64_t{31} << 29);
}

TEST_CASE("a topology that there is not") {
  for (const char* const name :
       {"", "v5e", ":2x2", "v5e:", "v5e:0x2", "v5e:2x", "v5e:axb", "v5e:-2x2",
        "v5e:99999999999999999999x2", "v5e:70000x1", "v5e:60000x60000", "v9:2x2"}) {
    CAPTURE(name);
    try {
      (void)OpenTopology(Fake("fail_await"), name);
      FAIL("there is one");
    } catch (const Error& error) {
      CHECK(error.code() == Code::kUsage);
      CHECK(error.message().find(fmt::format("unknown topology '{}': ", name)) == 0);
      CHECK(error.faults()[0].hint.find("v5e:2x2") != std::string::npos);
    }
  }
  CHECK_THROWS_AS((void)OpenTopology(Fake("no_topologies"), "v5e:2x2"), Error);
}

}  // namespace
}  // namespace tpuest
