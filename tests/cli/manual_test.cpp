// The generated manual has every type and every key.

#include <doctest/doctest.h>

#include <set>

#include "cli/commands.h"
#include "cli/job/job.h"
#include "cli/manual/pages.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

TEST_CASE("each type has a kind and a summary, and a name that is unique in its kind") {
  std::set<std::pair<std::string_view, std::string>> names;
  for (const TypeEntry& type : JobCatalog().types) {
    CAPTURE(type.name);
    CHECK(FindKind(type.kind) != nullptr);
    CHECK_FALSE(type.summary.empty());
    CHECK_FALSE(type.summary.ends_with('.'));
    CHECK(names.emplace(type.kind, type.name).second);
  }
  for (const Kind& kind : Kinds()) CHECK_FALSE(TypesOf(kind).empty());
  CHECK(TypesOf(*FindKind("layers")).size() > 70);
}

// The catalogue's keys with their type; the type is "" for the job's own keys.
std::set<std::pair<std::string, std::string>> CatalogKeys() {
  std::set<std::pair<std::string, std::string>> keys;
  const auto add = [&](const std::string& type, const std::vector<config::SchemaKey>& of) {
    for (const config::SchemaKey& key : of) keys.emplace(type, config::PathSteps(key.path).back());
  };
  add("", JobCatalog().keys);
  for (const TypeEntry& type : JobCatalog().types) add(type.name, type.keys);
  return keys;
}

TEST_CASE("each key that a job may have is in the catalogue, under its type") {
  const auto keys = CatalogKeys();
  std::set<std::string> of_job;
  for (const auto& [type, key] : keys) of_job.insert(key);
  int missing = 0;
  for (const config::SchemaKey& key : config::Schema<Job>()) {
    const std::string last = config::PathSteps(key.path).back();
    const bool is_known =
        keys.contains({key.of_type, last}) || (key.of_type.empty() && of_job.contains(last));
    if (!is_known) MESSAGE("missing: " << key.of_type << " " << key.path);
    missing += is_known ? 0 : 1;
  }
  CHECK(missing == 0);
}

TEST_CASE("docs/reference.md is what the program writes") {
  const bool is_same = ReferenceText(Commands()) == ReadFile(SOURCE_ROOT "/docs/reference.md");
  if (!is_same) MESSAGE("write it: tpuest help --markdown >docs/reference.md");
  CHECK(is_same);
}

TEST_CASE("the man pages have every command, type and key") {
  const std::vector<ManFile> files = ManPages(Commands());
  REQUIRE(files.size() == Commands().size() + 2);
  for (const ManFile& file : files) CHECK(file.text.starts_with(".TH "));
  CHECK(files[0].name == "tpuest.1");
  CHECK(files[1].name == "tpuest-job.5");
  const auto has = [&](const ManFile& file, const std::string& word) {
    std::string roff;
    for (const char c : word) roff += c == '-' ? "\\-" : std::string(1, c);
    return file.text.find(roff) != std::string::npos;
  };
  for (const TypeEntry& type : JobCatalog().types) CHECK(has(files[1], ".SS " + type.name));
  for (const auto& named : CatalogKeys()) {
    CAPTURE(named.first);
    CAPTURE(named.second);
    CHECK(has(files[1], named.second));
  }
  for (const Command& command : Commands()) {
    CAPTURE(command.summary);
    CHECK(has(files[0], std::string(command.summary.substr(0, 20))));
  }
}

TEST_CASE("a document is wrapped for a terminal, and escaped for Markdown and man") {
  Document page;
  page.Heading("Keys")
      .Paragraph("one two three four five six seven eight nine ten")
      .Item("`a`", "short")
      .Item("`a_term_that_is_wider_than_its_column`", "what it says goes below, in lines")
      .Code("tpuest train\n  .first");
  CHECK(PlainText(page, 40) ==
        "Keys\n\none two three four five six seven eight\nnine ten\n\n"
        "  a\n    short\n  a_term_that_is_wider_than_its_column\n    what it says goes below, in "
        "lines\n\n  tpuest train\n    .first\n");
  CHECK(PlainText(page, 80).find("\n  a                       short\n") != std::string::npos);
  CHECK(Markdown(Document().Paragraph("x<y, `a<b>`")) == "x\\<y, `a<b>`\n");
  CHECK(Markdown(Document().Heading("Keys").Item("`a`", "b")) == "## Keys\n\n- `a`: b\n");
  CHECK(ManPage(Document().Heading("Name").Paragraph(".x - `y\\n`"), "T", 5, "0.1") ==
        ".TH T 5 \"\" \"tpuest 0.1\"\n.SH NAME\n.PP\n\\&.x \\- \\fBy\\en\\fR\n");
}

}  // namespace
}  // namespace tpuest::cli
