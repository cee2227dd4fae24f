#pragma once
// Formats lines of a job file for people to read.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tpuest::cli {

// Returns a string of the job for flow or block style: quoted if YAML needs it, "${" escaped.
[[nodiscard]] std::string Word(const std::string& text);

// Returns a column's number rounded to a hundredth of the column's deviation, always with a decimal
// point.
[[nodiscard]] std::string Rounded(double value, double deviation);

// Returns "[a, b, c]" for a line that already has `column` characters. Lines have at most 100
// characters; continuation lines are indented by `indent`.
[[nodiscard]] std::string FlowList(size_t column, const std::vector<std::string>& items,
                                   size_t indent);
// Returns the list after a head: "head[a, b, c]".
[[nodiscard]] std::string FlowList(const std::string& head, const std::vector<std::string>& items,
                                   size_t indent);

// Returns the line and its newline, with the comment after it, or above it if both exceed 100
// characters.
[[nodiscard]] std::string Commented(const std::string& line, const std::string& comment);

// The keys of a section with their values, in the order of the text.
using Fields = std::vector<std::pair<std::string, std::string>>;

// Returns "  name: {key: value, ...}" with a comment, on one line of up to 100 characters,
// otherwise with one key per line.
[[nodiscard]] std::string SectionLines(const std::string& name, const Fields& fields,
                                       const std::string& comment);

}  // namespace tpuest::cli
