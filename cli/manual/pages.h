#pragma once
// Writes the pages of the manual from the declarations: of a type, of keys, of all of them.

#include <string>
#include <vector>

#include "cli/manual/catalog.h"
#include "cli/shell/command.h"
#include "cli/shell/document.h"

namespace tpuest::cli {

// Returns a type's summary, aliases, places and keys.
[[nodiscard]] Document PageOf(const TypeEntry& type);
// A kind's types, each with its summary.
[[nodiscard]] Document PageOf(const Kind& kind);
// Returns the page of a key of the job or of a type, by its path; for a section with the keys
// directly below it.
[[nodiscard]] Document PageOf(const config::SchemaKey& key,
                              const std::vector<config::SchemaKey>& all);

// docs/reference.md: commands with their flags, keys of the job, all types; in Markdown.
[[nodiscard]] std::string ReferenceText(const std::vector<Command>& commands);

// A man page: its file and its text.
struct ManFile {
  std::string name;  // "tpuest-train.1"
  std::string text;
};
// Returns tpuest(1), a page per command, and tpuest-job(5) with the keys and types.
[[nodiscard]] std::vector<ManFile> ManPages(const std::vector<Command>& commands);

}  // namespace tpuest::cli
