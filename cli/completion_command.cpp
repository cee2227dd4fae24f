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
  local -a found words_only shown keys keys_shown
  local line word
  found=("${(@f)$(${words[1]} __complete --about "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $found; do
    word=${line%%$'\t'*}
    if [[ $word == *= ]]; then
      keys+=($word)
      keys_shown+=("${line//$'\t'/  -- }")
    else
      words_only+=($word)
      shown+=("${line//$'\t'/  -- }")
    fi
  done
  (( ${#keys} )) && compadd -S '' -l -d keys_shown -- $keys
  (( ${#words_only} )) && compadd -l -d shown -- $words_only
  (( ${#keys} + ${#words_only} )) || _files
}
if [[ $funcstack[1] == _tpuest ]]; then
  _tpuest "$@"
else
  compdef _tpuest tpuest
fi
)";

constexpr const char* kFish = R"(function __tpuest_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete --about $words[2..-1] 2>/dev/null
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
                    ? "completion needs the name of a shell"
                    : fmt::format("completion does not support the shell '{}'", invocation.subject),
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
  return MakeCommand(
      {.name = "completion",
       .summary = "print a shell's completion script: completion bash|zsh|fish",
       .examples = {"source <(tpuest completion bash)",
                    "tpuest completion fish > ~/.config/fish/completions/tpuest.fish"},
       .takes = Takes::kNothing,
       .subjects = {"bash", "zsh", "fish"},
       .needs_subject = true},
      Completion);
}

}  // namespace tpuest::cli
