#pragma once
// Lines of a job file that people are to read.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tpuest::cli {

// A string of the job, in flow or block: quoted where YAML needs it, "${" escaped.
[[nodiscard]] std::string Word(const std::string& text);

// A column's number to a hundredth of the column's deviation, always with a decimal point.
[[nodiscard]] std::string Rounded(double value, double deviation);

// "[a, b, c]" as it stands from character `column` of a line on. A line takes 100 characters; those
// that follow are indented by `indent`.
[[nodiscard]] std::string FlowList(size_t column, const std::vector<std::string>& items,
                                   size_t indent);
// The list behind a head: "head[a, b, c]".
[[nodiscard]] std::string FlowList(const std::string& head, const std::vector<std::string>& items,
                                   size_t indent);

// The line and its newline, with the comment behind it, or above it where 100 characters do not
// hold both.
[[nodiscard]] std::string Commented(const std::string& line, const std::string& comment);

// A section's keys with their values, in the order of the text.
using Fields = std::vector<std::pair<std::string, std::string>>;

// "  name: {key: value, ...}" with a comment, on one line of 100 characters or on a line a key.
[[nodiscard]] std::string SectionLines(const std::string& name, const Fields& fields,
                                       const std::string& comment);

}  // namespace tpuest::cli
