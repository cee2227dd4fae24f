// tpuest completion bash|zsh|fish: a script for the shell, which asks the program itself

#include "cli/commands.h"
#include "cli/shell/json.h"

namespace tpuest::cli {
namespace {

// Bash breaks words at = and :, and wants what follows the last of them.
constexpr const char* kBash = R"(_tpuest() {
  local line=${COMP_LINE:0:COMP_POINT} candidate
  local word=${line##*[[:space:]]}
  local before=${word%"${word##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r candidate; do
    COMPREPLY+=("${candidate#"$before"}")
  done < <("${COMP_WORDS[0]}" __complete --line "$line" 2>/dev/null)
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _tpuest tpuest
)";

// As a file of $fpath this is the body of _tpuest when that is first called.
constexpr const char* kZsh = R"(#compdef tpuest
_tpuest() {
  local -a candidates keys
  candidates=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  keys=(${(M)candidates:#*=})
  candidates=(${candidates:#*=})
  (( ${#keys} )) && compadd -S '' -- $keys
  (( ${#candidates} )) && compadd -- $candidates
  (( ${#keys} + ${#candidates} )) || _files
}
if [[ $funcstack[1] == _tpuest ]]; then
  _tpuest "$@"
else
  compdef _tpuest tpuest
fi
)";

constexpr const char* kFish = R"(function __tpuest_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c tpuest -a '(__tpuest_complete)'
)";

int Completion(const Invocation& invocation, config::Sources& /*sources*/) {
  const char* const script = invocation.subject == "bash"   ? kBash
                             : invocation.subject == "zsh"  ? kZsh
                             : invocation.subject == "fish" ? kFish
                                                            : nullptr;
  if (script == nullptr) {
    throw Error(Code::kUsage,
                invocation.subject.empty()
                    ? "completion needs to know the shell"
                    : fmt::format("there is no completion for '{}'", invocation.subject),
                "bash, zsh or fish; for bash: source <(tpuest completion bash)");
  }
  if (invocation.json) {
    PrintDocument("completion", {{"shell", invocation.subject}, {"script", script}});
  } else {
    fmt::print("{}", script);
  }
  return 0;
}

}  // namespace

Command CompletionCommand() {
  return MakeCommand({.name = "completion",
                      .summary = "print a shell's completion script: completion bash|zsh|fish",
                      .example = "source <(tpuest completion bash)",
                      .takes = Takes::kNothing,
                      .subjects = {"bash", "zsh", "fish"},
                      .needs_subject = true},
                     Completion);
}

}  // namespace tpuest::cli
