// One program with all targets; libFuzzer calls it with each input. FUZZ_TARGET in the environment
// names the target, and child processes inherit it. FUZZ_TARGET=records prints the names and
// signatures of all ops, and FUZZ_TARGET=functions those of the functions of formulas, for
// seeds.py. FUZZ_VERBOSE prints why an input is refused.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

#include "core/nn/formula/formula.h"
#include "core/ops/all_ops.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

// A refusal may quote some of its input, but not a whole file.
constexpr size_t kMostText = 4096;

using Target = void (*)(std::string_view input);

const std::map<std::string_view, Target> kTargets = {
    {"bundle", &RunBundle},
    {"csv", &RunCsv},
    {"events", &RunEvents},
    {"example", &RunExample},
    {"formula", &RunFormula},
    {"graphdef", &RunGraphdef},
    {"idx", &RunIdx},
    {"images", &RunImages},
    {"job", &RunJob},
    {"keras", &RunKeras},
    {"overrides", &RunOverrides},
    {"rows", &RunRows},
    {"saved_model", &RunSavedModel},
    {"text", &RunText},
    {"tf_config", &RunTfConfig},
    {"tfrecord", &RunTfrecord},
};

Target Named() {
  const char* const name = std::getenv("FUZZ_TARGET");
  const auto target = kTargets.find(name == nullptr ? "" : name);
  if (target != kTargets.end()) return target->second;
  std::fputs("FUZZ_TARGET: expected one of", stderr);
  for (const auto& [known, run] : kTargets) std::fprintf(stderr, " %s", known.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

void PrintRecords() {
  const OpRegistry registry(ops::AllOps());
  for (const auto& [name, op] : registry.ops()) {
    std::printf("%s\t%s\n", std::string(name).c_str(), std::string(op.def->signature).c_str());
  }
}

void PrintFunctions() {
  for (const nn::FormulaFunction& f : nn::FormulaFunctions(OpRegistry(ops::AllOps()))) {
    std::printf("%s\t%s\n", f.names.c_str(), f.parameters.c_str());
  }
}

}  // namespace

void CheckRefusal(const Error& error) {
  if (std::getenv("FUZZ_VERBOSE") != nullptr) std::fprintf(stderr, "refused: %s\n", error.what());
  const Code code = error.code();
  Check(code == Code::kUsage || code == Code::kData || code == Code::kCheckpoint ||
            code == Code::kResource,
        "code {}: {}", static_cast<int>(code), error.message());
  Check(!error.faults().empty(), "an error of no fault");
  for (const Fault& fault : error.faults()) {
    Check(!fault.message.empty(), "a fault that says nothing");
    Check(fault.message.size() <= kMostText, "a message of {} bytes: {}", fault.message.size(),
          fault.message.substr(0, 200));
    Check(fault.hint.size() <= kMostText, "a hint of {} bytes: {}", fault.hint.size(),
          fault.hint.substr(0, 200));
  }
}

std::string Files::Put(std::string_view name, std::string_view bytes) const {
  std::string path = Path(name);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Check(fd >= 0, "cannot write {}", path);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  ::close(fd);
  Check(written == static_cast<ssize_t>(bytes.size()), "cannot write {}", path);
  return path;
}

const Files& TheFiles() {
  static const Files files;
  return files;
}

}  // namespace tpuest::fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const target = std::getenv("FUZZ_TARGET");
  const std::string_view name = target == nullptr ? "" : target;
  if (name != "records" && name != "functions") return 0;
  name == "records" ? tpuest::fuzz::PrintRecords() : tpuest::fuzz::PrintFunctions();
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tpuest::fuzz::Target target = tpuest::fuzz::Named();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    tpuest::fuzz::Takes([&] { target(input); });
  } catch (const std::bad_alloc&) {
    // A valid input may ask for tensors of this size; the command line then reports that memory is
    // exhausted.
  }
  return 0;
}
