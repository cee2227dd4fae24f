// Compares the PJRT interface in core/backend/pjrt/c_api.h with the header of XLA's CPU plugin.
// Reads both as text and writes one assertion per struct, field, table entry and number; the
// compiler reports those that fail.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/child_process.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "tests/cpu_plugin.h"
#include "tests/temporary_folder.h"

namespace tpuest {
namespace {

constexpr std::string_view kOurHeader = "core/backend/pjrt/c_api.h";
constexpr std::string_view kTheirHeader = "pjrt_c_api.h";

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (IsWordCharacter(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string WithoutComments(std::string_view text) {
  std::string code;
  for (const std::string& line : Split(text, '\n')) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

// "PJRT_Client_Create_Args" and "ClientCreateArgs" are one name, as are "client_create" and
// "PJRT_Client_Create".
std::string Plain(std::string_view name) {
  if (StartsWith(name, "PJRT_")) name.remove_prefix(5);
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

// The names of a header of the interface, by their plain form.
class TheirNames {
 public:
  explicit TheirNames(const std::string& header) {
    for (const std::string& word : Words(WithoutComments(header))) {
      if (StartsWith(word, "PJRT_")) names_.emplace(Plain(word), word);
    }
  }
  // The first of the candidates that the header has.
  [[nodiscard]] std::string Find(const std::vector<std::string>& candidates) const {
    for (const std::string& candidate : candidates) {
      const auto found = names_.find(Plain(candidate));
      if (found != names_.end()) return found->second;
    }
    throw Error(Code::kInternal,
                fmt::format("{} has no name for {}", kTheirHeader, candidates.front()));
  }

 private:
  std::map<std::string, std::string> names_;
};

// A struct or an enum: the names in it, in their order.
struct Declared {
  std::string name;
  std::vector<std::string> members;
};

// The names that a declaration "type name = value, name" declares.
std::vector<std::string> MembersOf(std::string_view declaration) {
  declaration.remove_prefix(std::min(declaration.find('{') + 1, declaration.size()));
  std::vector<std::string> members;
  for (const std::string& part : Split(declaration, ',')) {
    const std::string before_value = part.substr(0, part.find(" = "));
    // "void (*name)()"
    const size_t pointer = before_value.find("(*");
    const auto words = Words(before_value.substr(pointer == std::string::npos ? 0 : pointer));
    if (!words.empty()) members.push_back(words.back());
  }
  return members;
}

// All declarations of our header after this keyword: "struct ", "enum class ".
std::vector<Declared> Declarations(const std::string& header, const std::string& keyword) {
  std::vector<Declared> all;
  const std::string code = WithoutComments(header);
  const std::string start = "\n" + keyword;
  for (size_t at = code.find(start); at != std::string::npos; at = code.find(start, at + 1)) {
    const size_t open = code.find_first_of("{;", at);
    if (code[open] == ';') continue;
    const size_t close = code.find(keyword == "struct " ? "\n};" : "};", open);
    Declared declared{Words(code.substr(at + start.size(), open - at)).front(), {}};
    for (const std::string& part : Split(code.substr(open + 1, close - open - 1), ';')) {
      for (std::string& member : MembersOf(part)) declared.members.push_back(std::move(member));
    }
    // The fields with which all structs begin; their type is checked separately.
    if (declared.name != "Head") all.push_back(std::move(declared));
  }
  return all;
}

// Assertions in C++, each with its message.
class Assertions {
 public:
  void Add(std::string_view condition, std::string_view otherwise) {
    text_ += fmt::format("static_assert({}, \"{}\");\n", condition, otherwise);
    ++count_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::string text_;
  int count_ = 0;
};

void AddField(const Declared& ours, const std::string& field, const std::string& their_struct,
              const std::string& their_field, Assertions& assertions) {
  const std::string name = fmt::format("{}.{}", their_struct, their_field);
  assertions.Add(fmt::format("offsetof({}, {}) == offsetof(ours::{}, {})", their_struct,
                             their_field, ours.name, field),
                 name + " lies at another place");
  assertions.Add(fmt::format("Alike<decltype({}::{}), decltype(ours::{}::{})>", their_struct,
                             their_field, ours.name, field),
                 name + " has another type");
}

void AddStruct(const Declared& ours, const TheirNames& names, Assertions& assertions) {
  const std::string theirs = names.Find({ours.name});
  const bool is_table = ours.name == "Api";
  for (const std::string& field : ours.members) {
    if (field == "head") {
      for (const std::string_view part : {"struct_size", "extension_start"}) {
        assertions.Add(fmt::format("offsetof({}, {}) == offsetof(ours::Head<ours::{}>, {})", theirs,
                                   part, ours.name, part),
                       fmt::format("{}.{} lies at another place", theirs, part));
      }
    } else if (is_table && field != "pjrt_api_version") {
      AddField(ours, field, theirs, names.Find({field}), assertions);
    } else {
      AddField(ours, field, theirs, field, assertions);
    }
  }
  // The table ends with the last function that we call.
  assertions.Add(fmt::format("{}_STRUCT_SIZE {} ours::kStructSize<ours::{}>", theirs,
                             is_table ? ">=" : "==", ours.name),
                 theirs + " has another size");
}

// PJRT_Buffer_Type_F32, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, PJRT_NamedValue_kInt64.
void AddEnum(const Declared& ours, const TheirNames& names, Assertions& assertions) {
  const std::string short_name = ours.name.substr(0, ours.name.rfind("Type"));
  const std::string type = names.Find({ours.name});
  assertions.Add(fmt::format("sizeof({}) == sizeof(ours::{})", type, ours.name),
                 type + " has another size");
  for (const std::string& value : ours.members) {
    const std::string theirs =
        names.Find({ours.name + value.substr(1), ours.name + value, short_name + value});
    assertions.Add(fmt::format("{} == static_cast<int>(ours::{}::{})", theirs, ours.name, value),
                   theirs + " is another number");
  }
}

// Plugins with a newer header may have more entries.
constexpr std::string_view kPrelude = R"(
#include "pjrt_c_api.h"
#include "core/backend/pjrt/c_api.h"
#include <type_traits>
namespace ours = tpuest::pjrt;
template <class A, class B>
constexpr bool Alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                       std::is_enum_v<A> == std::is_enum_v<B> &&
                       std::is_integral_v<A> == std::is_integral_v<B> &&
                       std::is_signed_v<A> == std::is_signed_v<B>;
static_assert(PJRT_API_MAJOR == ours::kApiMajor, "another major version");
static_assert(PJRT_API_MINOR >= ours::kApiMinor, "an older minor version");
)";

Assertions AllAssertions(const std::string& our_header, const std::string& their_header) {
  const TheirNames names(their_header);
  Assertions assertions;
  for (const Declared& each : Declarations(our_header, "struct ")) {
    AddStruct(each, names, assertions);
  }
  for (const Declared& each : Declarations(our_header, "enum class ")) {
    AddEnum(each, names, assertions);
  }
  return assertions;
}

// The compiler's messages about failed assertions, with the two numbers if it prints them; its
// whole output if it prints anything else.
std::string Complaints(const std::string& said) {
  std::string complaints;
  for (const std::string& line : Split(said, '\n')) {
    for (const std::string_view sign : {"static assertion failed", "the comparison reduces to"}) {
      const size_t at = line.find(sign);
      if (at != std::string::npos) complaints += line.substr(at) + "\n";
    }
  }
  return complaints.empty() ? said : complaints;
}

// The differences between a header like ours and the one in this folder; "" if there are none.
std::string Differences(const std::string& our_header, const std::string& their_folder) {
  const TemporaryFolder folder;
  const std::string ours = folder.File(kOurHeader);
  MakeDirectories(DirName(ours));
  WriteFileAtomically(ours, our_header, /*fsync=*/false);
  const std::string source = folder.File("layout.cpp");
  const std::string theirs = ReadFile(JoinPath(their_folder, kTheirHeader));
  WriteFileAtomically(source, std::string(kPrelude) + AllAssertions(our_header, theirs).text(),
                      /*fsync=*/false);
  ProgramCall call{.words = Split(COMPILER, ' '), .log = folder.File("said")};
  for (const std::string& word : {std::string("-std=c++20"), std::string("-fsyntax-only"),
                                  "-I" + folder.path(), "-I" + their_folder, source}) {
    call.words.push_back(word);
  }
  return ChildProcess(call).Wait().ShellCode() == 0 ? "" : Complaints(ReadFile(*call.log));
}

std::string OurHeader() { return ReadFile(JoinPath(SOURCE_ROOT, kOurHeader)); }
std::string TheirFolder() { return JoinPath(DirName(CpuPlugin()), "include"); }

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("the interface lies in memory as the plugin's header has it") {
  const std::string theirs = ReadFile(JoinPath(TheirFolder(), kTheirHeader));
  CHECK(AllAssertions(OurHeader(), theirs).count() > 500);
  CHECK(Differences(OurHeader(), TheirFolder()) == "");
}

TEST_CASE("what lies at another place is named") {
  const auto differences = [](const std::string& from, const std::string& to) {
    return Differences(Replaced(OurHeader(), from, to), TheirFolder());
  };
  const auto names = [&](const std::string& from, const std::string& to, const char* expected) {
    const std::string found = differences(from, to);
    CAPTURE(found);
    CHECK(found.find(expected) != std::string::npos);
  };
  names("  Unused event_is_ready, event_error;", "  Unused event_error, event_is_ready;",
        "PJRT_Api.PJRT_Event_IsReady lies at another place");
  names("  size_t num_args = 0;\n", "",
        "PJRT_LoadedExecutable_Execute_Args.output_lists lies at another place");
  names("  int* task_ids = nullptr;\n  int64_t* incarnation_ids = nullptr;\n", "",
        "PJRT_ExecuteOptions has another size");
  names("int launch_id", "size_t launch_id", "PJRT_ExecuteOptions.launch_id has another type");
  names("kBf16 = 13", "kBf16 = 14", "PJRT_Buffer_Type_BF16 is another number");
}

}  // namespace
}  // namespace tpuest
