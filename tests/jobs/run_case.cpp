#include "tests/jobs/run_case.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "tests/jobs/expect.h"
#include "tests/jobs/process.h"

namespace tpuest {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTailLines = 15;

// Owns bin/tpuest, work/ (the working directory), home/ and output/, and removes them.
class CaseFolder {
 public:
  explicit CaseFolder(const CaseOptions& options)
      : path_(MakeTemporaryFolder("tpuest_job")), keep_(options.keep_folder) {
    for (const char* name : {"bin", "work", "home", "output"}) fs::create_directory(In(name));
    fs::create_symlink(fs::absolute(options.program), In("bin/tpuest"));
  }
  ~CaseFolder() {
    // A case may remove permissions; the system then removes the rest.
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);
  }
  CaseFolder(const CaseFolder&) = delete;
  CaseFolder& operator=(const CaseFolder&) = delete;
  [[nodiscard]] std::string In(const std::string& name) const { return JoinPath(path_, name); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool keep_;
};

// A case gets none of the caller's environment except what the program needs to load.
std::map<std::string, std::string> Environment(const CaseFolder& folder,
                                               const CaseOptions& options) {
  std::map<std::string, std::string> environment = {
      {"PATH", folder.In("bin") + ":" + std::string(kCasePath)},
      {"HOME", folder.In("home")},
      {"TMPDIR", folder.In("home")},
      {"LC_ALL", "C.UTF-8"},
      {"TERM", "dumb"},
      // Cases see all messages of the log; by default stderr shows fewer.
      {"TPUEST_LOG_LEVEL", "debug"},
      {"SOURCE_ROOT", options.source_root},
      {"TESTDATA", JoinPath(options.source_root, "tests/testdata")},
      {"TPUEST_PLUGINS", options.plugins}};
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = getenv(name)) environment[name] = value;
  }
  return environment;
}

ProcessRequest Request(const Step& step, const CaseFolder& folder, const CaseOptions& options) {
  const bool needs_shell = step.words.empty();
  ProcessRequest request{
      .program = needs_shell ? "/bin/bash" : folder.In("bin/" + step.words[0]),
      .words = needs_shell ? std::vector<std::string>{"bash", "-c", step.script} : step.words,
      .folder = folder.In("work"),
      .output_folder = folder.In("output"),
      .environment = Environment(folder, options),
      .input = step.input,
      .limit_s = step.limit_s,
      .signal = 0,
      .is_due = nullptr};
  for (const auto& [name, value] : step.environment) request.environment[name] = value;
  if (step.signal) {
    request.signal = step.signal->signal;
    request.is_due = [plan = *step.signal, work = request.folder](const std::string& err) {
      return plan.after.empty() ? !FilesOf(work, plan.after_file).empty()
                                : err.find(plan.after) != std::string::npos;
    };
  }
  return request;
}

void AppendTail(const std::string& name, const std::string& text,
                std::vector<std::string>& report) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const size_t first = lines.size() > kTailLines ? lines.size() - kTailLines : 0;
  if (first > 0) report.push_back(fmt::format("    {}: ... {} lines before", name, first));
  for (size_t i = first; i < lines.size(); ++i) {
    report.push_back(fmt::format("    {}: {}", name, lines[i]));
  }
}

void WriteStepFile(const Step& step, const CaseFolder& folder) {
  const std::string path = JoinPath(folder.In("work"), step.write);
  MakeDirectories(DirName(path));
  WriteFileAtomically(path, step.text, false);
}

void FlipByte(const Step& step, const CaseFolder& folder) {
  const std::string path = JoinPath(folder.In("work"), step.flip);
  std::string bytes = ReadFile(path);
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t at = step.at < 0 ? size + step.at : step.at;
  if (at < 0 || at >= size) {
    throw Error(Code::kUsage, fmt::format("{} has {} bytes, none at {}", step.flip, size, step.at));
  }
  char& byte = bytes[static_cast<size_t>(at)];
  byte = static_cast<char>(~byte);
  WriteFileAtomically(path, bytes, false);
}

// Whether the step only changed a file, so that there is nothing to compare.
bool DoOnFiles(const Step& step, const CaseFolder& folder) {
  if (!step.write.empty()) WriteStepFile(step, folder);
  if (!step.flip.empty()) FlipByte(step, folder);
  return !step.write.empty() || !step.flip.empty();
}

}  // namespace

std::vector<std::string> RunCase(const JobCase& job_case, const CaseOptions& options) {
  std::vector<std::string> report;
  const CaseFolder folder(options);
  WriteFileAtomically(folder.In("work/" + job_case.file), job_case.job, false);
  for (size_t i = 0; i < job_case.steps.size() && report.empty(); ++i) {
    const Step& step = job_case.steps[i];
    if (DoOnFiles(step, folder)) continue;
    const ProcessResult result = RunProcess(Request(step, folder, options));
    for (const std::string& fault : Compare(step, result, folder.In("work"))) {
      report.push_back(
          fmt::format("{}: step {} (line {}): {}", job_case.name, i + 1, step.line, fault));
    }
    if (report.empty()) continue;
    report.push_back("    $ " + step.script);
    AppendTail("stdout", result.out, report);
    AppendTail("stderr", result.err, report);
    if (options.keep_folder) report.push_back("    kept: " + folder.path());
  }
  return report;
}

}  // namespace tpuest
