#pragma once
// The pages of the manual that are made from the declarations: of a type, of keys, of all of them.

#include <string>
#include <vector>

#include "cli/manual/catalog.h"
#include "cli/shell/command.h"
#include "cli/shell/document.h"

namespace tpuest::cli {

// What a type is, how else it is written, where it stands, and its keys.
[[nodiscard]] Document PageOf(const TypeEntry& type);
// A kind's types, each with its summary.
[[nodiscard]] Document PageOf(const Kind& kind);
// A key of the job, or of a type, by its path; of a section with the keys right below it.
[[nodiscard]] Document PageOf(const config::SchemaKey& key,
                              const std::vector<config::SchemaKey>& all);

// docs/reference.md: commands with their flags, keys of the job, all types; in Markdown.
[[nodiscard]] std::string ReferenceText(const std::vector<Command>& commands);

// A man page: its file and its text.
struct ManFile {
  std::string name;  // "tpuest-train.1"
  std::string text;
};
// tpuest(1), a page a command, and tpuest-job(5), which has the keys and types.
[[nodiscard]] std::vector<ManFile> ManPages(const std::vector<Command>& commands);

}  // namespace tpuest::cli
