#pragma once
// An Error describes a fault of the user, a file or the machine, with its place and a hint. Any
// code may throw it; cli/ catches it once, prints it like a compiler's message and exits with its
// code. Check is for bugs of tpuest.

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tpuest {

// The exit codes of the command line.
enum class Code : int {
  kInternal = 1,      // a bug in tpuest
  kUsage = 2,         // command line or job file; nothing was touched
  kData = 3,          // data missing, or corrupt beyond policy
  kCheckpoint = 4,    // model and checkpoint do not match, or it is unreadable
  kDiverged = 5,      // NaN or Inf
  kResource = 6,      // out of memory, disk full
  kLost = 7,          // device or peer lost, deadline exceeded
  kGate = 8,          // a gate was not met
  kPreempted = 75,    // SIGTERM: state is saved; the same command resumes
  kInterrupted = 130  // Ctrl-C: saved and left
};

// A position in a text file. line and column count from 1; line 0 means unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

// A single fault.
struct Fault {
  std::string message;  // what was expected and what was found
  std::string hint;     // what to do; may be empty
  std::string
      key;  // the job's key path ("run_config.tpu_config"), or empty; cli finds the place from it
  Place place;    // where, if it is known
  int width = 0;  // characters to underline at the place
};

// At least one fault, and the exit code.
class Error : public std::exception {
 public:
  Error(Code code, std::string message, std::string hint = "")
      : code_(code), faults_{Fault{std::move(message), std::move(hint), "", {}, 0}} {}
  Error(Code code, std::vector<Fault> faults) : code_(code), faults_(std::move(faults)) {}

  // Sets the job's key path of the first fault.
  Error&& Key(std::string key) && {
    faults_.front().key = std::move(key);
    return std::move(*this);
  }
  // Sets the place of the first fault.
  Error&& At(Place place) && {
    faults_.front().place = std::move(place);
    return std::move(*this);
  }

  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  [[nodiscard]] const std::string& message() const { return faults_.front().message; }
  [[nodiscard]] const char* what() const noexcept override {
    return faults_.front().message.c_str();
  }

 private:
  Code code_;
  std::vector<Fault> faults_;
};

// Thrown by Check: a bug of tpuest, never the user's fault.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string message) : message_(std::move(message)) {}
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string message);

}  // namespace tpuest

// Check(condition) or Check(condition, "format", args...): throws if tpuest itself is wrong.
#define Check(condition, ...)                                                                    \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::tpuest::CheckFailed(__FILE_NAME__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
