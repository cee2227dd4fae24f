#include "cli/shell/guarded.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "cli/shell/report.h"

namespace tpuest::cli {
namespace {

int Say(const Invocation& invocation, Code code, const std::vector<Fault>& faults,
        const config::Sources& sources) {
  if (invocation.json) PrintError(code, faults);
  const std::string text = config::Render(faults, sources);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return static_cast<int>(code);
}

// Stdout took less than what was printed. A reader that has left wants no more: that is no error.
int SayUnwritten(const Invocation& invocation, int number, const config::Sources& sources) {
  std::clearerr(stdout);
  if (number == EPIPE) return 0;
  return Say(invocation, Code::kResource,
             {{fmt::format("stdout: cannot write: {}", std::strerror(number)), "", "", {}, 0}},
             sources);
}

}  // namespace

int Guarded(const Invocation& invocation,
            const std::function<int(config::Sources& sources)>& body) {
  config::Sources sources;
  try {
    if (invocation.directory && chdir(invocation.directory->c_str()) != 0) {
      throw Error(Code::kUsage,
                  fmt::format("-C {}: there is no such folder", *invocation.directory));
    }
    errno = 0;
    const int exit_code = body(sources);
    FlushStdout();
    return exit_code;
  } catch (const Error& error) {
    return Say(invocation, error.code(), config::Placed(error, sources).faults(), sources);
  } catch (const std::bad_alloc&) {
    return Say(invocation, Code::kResource,
               {{"out of memory", "a smaller batch or a smaller model needs less", "", {}, 0}},
               sources);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return SayUnwritten(invocation, error.code().value(), sources);
    const std::string message = fmt::format("the machine refused: {}", error.what());
    return Say(invocation, Code::kResource, {{message, "--threads N asks for less", "", {}, 0}},
               sources);
  } catch (const std::exception& error) {
    return Say(
        invocation, Code::kInternal,
        {{error.what(), "this is a bug in tpuest; please report it with the job", "", {}, 0}},
        sources);
  }
}

}  // namespace tpuest::cli
