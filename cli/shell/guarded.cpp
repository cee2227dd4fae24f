#include "cli/shell/guarded.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/shell/console.h"
#include "cli/shell/report.h"
#include "cli/shell/terminal.h"
#include "core/base/clock.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// The word and the carets of each fault in red.
std::string Coloured(const std::string& text) {
  constexpr std::string_view kRed = "\x1b[31m";
  constexpr std::string_view kPlain = "\x1b[0m";
  constexpr std::string_view kWord = "error:";
  std::string coloured;
  for (const std::string& line : Split(text, '\n')) {
    const size_t word = line.find(kWord);
    const size_t caret = line.find_first_not_of(" |");
    const bool is_underline = caret != std::string::npos && line[caret] == '^';
    if (is_underline) {
      const size_t end = std::min(line.find_first_not_of('^', caret), line.size());
      coloured += fmt::format("{}{}{}{}{}", line.substr(0, caret), kRed,
                              line.substr(caret, end - caret), kPlain, line.substr(end));
    } else if (word == 0 || (word != std::string::npos && line[0] != ' ')) {
      coloured += fmt::format("{}{}{}{}{}", line.substr(0, word), kRed, kWord, kPlain,
                              line.substr(word + kWord.size()));
    } else {
      coloured += line;
    }
    coloured += '\n';
  }
  if (!coloured.empty()) coloured.pop_back();  // Split gives what is behind the last one, too
  return coloured;
}

int Say(const Invocation& invocation, Code code, const std::vector<Fault>& faults,
        const config::Sources& sources) {
  if (invocation.json) PrintError(code, faults);
  std::string text = config::Render(faults, sources);
  if (invocation.log_format == LogFormat::kJson) {
    text = ErrorLines(code, faults, Timestamp(SystemClock().WallSeconds(), true));
  } else if (HasColours(invocation.color)) {
    text = Coloured(text);
  }
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
                  fmt::format("-C {}: the folder does not exist", *invocation.directory));
    }
    errno = 0;
    const int exit_code = body(sources);
    FlushStdout();
    return exit_code;
  } catch (const Error& error) {
    return Say(invocation, error.code(), config::Placed(error, sources).faults(), sources);
  } catch (const std::bad_alloc&) {
    return Say(invocation, Code::kResource,
               {{"out of memory", "use a smaller batch or a smaller model", "", {}, 0}}, sources);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return SayUnwritten(invocation, error.code().value(), sources);
    const std::string message = fmt::format("the system refused a request: {}", error.what());
    return Say(invocation, Code::kResource,
               {{message, "--threads N uses fewer threads", "", {}, 0}}, sources);
  } catch (const std::exception& error) {
    return Say(
        invocation, Code::kInternal,
        {{error.what(), "this is a bug in tpuest; please report it with the job", "", {}, 0}},
        sources);
  }
}

}  // namespace tpuest::cli
