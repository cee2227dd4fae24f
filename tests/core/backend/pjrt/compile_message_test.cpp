#include "core/backend/pjrt/compile_message.h"

#include <doctest/doctest.h>

#include "core/backend/hlo/builder.h"

namespace tpuest {
namespace {

const Place kKernel = {"job.yaml", 7, 3};
const Place kMatMul = {"a \"job\".yaml", 12, 5};

// Two arguments, a product and its sum over rows; a constant and a broadcast that are not listed.
std::string Module() {
  HloBuilder hlo;
  hlo.SetLocation("features", {});
  const HloValue x = hlo.Argument(DType::kFloat, Shape({8, 1024}));
  hlo.SetLocation("dense/kernel", kKernel);
  const HloValue kernel = hlo.Argument(DType::kBfloat16, Shape({1024, 512}));
  hlo.SetLocation("dense/MatMul", kMatMul);
  const HloValue product = hlo.Dot(x, hlo.Convert(kernel, DType::kFloat), {{}, {}, {1}, {0}});
  hlo.SetLocation("big", {});
  hlo.Full(DType::kFloat, Shape({4096, 4096}), 1);
  hlo.SetLocation("Sum", {"job.yaml", 20, 1});
  const HloValue sum = hlo.Reduce("add", product, {0}, 0);
  const std::vector<HloValue> end = hlo.While(
      {sum},
      [&](const std::vector<HloValue>&) { return std::vector{hlo.Full(DType::kBool, {}, 0)}; },
      [&](const std::vector<HloValue>& state) {
        hlo.SetLocation("sorted", {"job.yaml", 30, 1});
        return std::vector{hlo.Sort(state, 0, "LT")[0]};
      });
  return hlo.Finish(end);
}

TEST_CASE("the largest tensors of a module are named with their places") {
  const std::vector<LargeTensor> all = LargestTensors(Module(), 9);
  REQUIRE(all.size() == 5);
  CHECK(all[0].of.node == "dense/kernel");
  CHECK(all[0].bytes == 1024 * 512 * 2);
  CHECK(all[0].shape == "bf16[1024,512]");
  CHECK(all[0].of.place.line == kKernel.line);
  CHECK(all[0].of.place.column == kKernel.column);
  CHECK(all[0].of.place.file == kKernel.file);
  CHECK(all[1].of.node == "features");
  CHECK(all[1].bytes == 8 * 1024 * 4);
  CHECK(all[1].of.place.line == 0);
  CHECK(all[2].of.node == "dense/MatMul");
  CHECK(all[2].bytes == 8 * 512 * 4);
  CHECK(all[2].of.place.file == kMatMul.file);
  CHECK(all[3].of.node == "Sum");
  CHECK(all[4].of.node == "sorted");
  CHECK(all[4].shape == "f32[512]");
  CHECK(LargestTensors(Module(), 2).size() == 2);
  CHECK(LargestTensors("", 2).empty());
}

TEST_CASE("a compiler's message leads to the node") {
  const std::string module = Module();
  const auto line_of = [&](std::string_view name) { return FindNode(name, module)->place.line; };
  CHECK(line_of("not found\n\nSuspected Location:\n  job.yaml:7:3 [dense/kernel]") == 7);
  CHECK(line_of("op_name=\"Sum\" source_file=\"job.yaml\"; see op_name=\"dense/kernel\"") == 20);
  CHECK(line_of("see [dense/kernel], op_name=\"Sum\"") == 7);
  CHECK(line_of("loc(\"dense/MatMul\"(\"a\":1:2)): error: no") == 12);
  size_t line = 1;
  for (size_t at = 0; at < module.find("stablehlo.dot_general"); ++at) line += module[at] == '\n';
  CHECK(line_of("-:" + std::to_string(line) + ":5: error: expected a type") == 12);
  CHECK_FALSE(FindNode("op_name=\"another\" [brackets] -:999999:1: error", module).has_value());
  CHECK_FALSE(FindNode("op_name=\"cut", module).has_value());
}

TEST_CASE("libtpu's short message about memory: the tensors are the module's") {
  const auto shortage = FindShortage(
      "E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required "
      "for HLO temporaries (20.31G) exceeds available HBM (15.75G). HLO module: tpuest.",
      Module());
  REQUIRE(shortage.has_value());
  CHECK(shortage->needed == static_cast<int64_t>(20.31 * (1 << 30)));
  CHECK(shortage->available == static_cast<int64_t>(15.75 * (1 << 30)));
  REQUIRE_FALSE(shortage->largest.empty());
  CHECK(shortage->largest[0].of.node == "dense/kernel");
}

TEST_CASE("libtpu's long message about memory lists them") {
  const auto shortage = FindShortage(
      "XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 21.95G of "
      "15.48G hbm. Exceeded hbm capacity by 6.47G.\n\nTotal hbm usage >= 22.47G:\n"
      "    reserved        530.00M\n\n  Largest program allocations in hbm:\n\n"
      "  1. Size: 2.00G\n     Operator: op_name=\"dense/MatMul\" source_file=\"a\" source_line=12\n"
      "     Shape: f32[32,4096,4096]{1,2,0:T(8,128)}\n     Unpadded size: 1.00G\n"
      "     Allocation type: HLO temp\n     ==========================\n\n"
      "  2. Size: 512.0K\n     Shape: bf16[1024]{0}\n     Unpadded size: 2.0K\n",
      Module());
  REQUIRE(shortage.has_value());
  CHECK(shortage->needed == static_cast<int64_t>(21.95 * (1 << 30)));
  CHECK(shortage->available == static_cast<int64_t>(15.48 * (1 << 30)));
  REQUIRE(shortage->largest.size() == 2);
  CHECK(shortage->largest[0].bytes == int64_t{2} << 30);
  CHECK(shortage->largest[0].shape == "f32[32,4096,4096]");
  CHECK(shortage->largest[0].of.place.line == 12);
  CHECK(shortage->largest[0].of.place.file == kMatMul.file);
  CHECK(shortage->largest[1].bytes == 512 << 10);
  CHECK(shortage->largest[1].of.node.empty());
}

TEST_CASE("other messages are about no memory") {
  CHECK_FALSE(
      FindShortage("Ran out of memory in memory space vmem. Used 17M of 16M vmem.", Module())
          .has_value());
  CHECK_FALSE(FindShortage("", "").has_value());
}

TEST_CASE("an error about memory lists the tensors at their lines") {
  MemoryShortage shortage{int64_t{3} << 29, int64_t{1} << 30, LargestTensors(Module(), 2)};
  const Error error = ShortageError("v5e:2x2", shortage);
  CHECK(error.code() == Code::kGate);
  REQUIRE(error.faults().size() == 3);
  CHECK(error.message() == "v5e:2x2: needs 1.50 GiB of a core's 1.00 GiB");
  CHECK(error.faults()[1].message == "dense/kernel: bf16[1024,512], 1.0 MiB");
  CHECK(error.faults()[1].place.line == 7);
}

}  // namespace
}  // namespace tpuest
