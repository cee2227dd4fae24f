#pragma once
// Lines of a job file that people are to read.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tpuest::cli {

// A string of the job, in flow or block: quoted where YAML needs it, "${" escaped.
[[nodiscard]] std::string Word(const std::string& text);

// A number of a column to a hundredth of the column's deviation, with a point.
[[nodiscard]] std::string Rounded(double value, double deviation);

// "[a, b, c]" from that column of a line on, over as many lines as it takes, further ones indented.
[[nodiscard]] std::string FlowList(size_t column, const std::vector<std::string>& items,
                                   size_t indent);
// The same behind a head: "head[a, b, c]".
[[nodiscard]] std::string FlowList(const std::string& head, const std::vector<std::string>& items,
                                   size_t indent);

// The line and its newline, with the comment behind it, or above it where it does not fit.
[[nodiscard]] std::string Commented(const std::string& line, const std::string& comment);

// Keys and values of a section.
using Fields = std::vector<std::pair<std::string, std::string>>;

// "  name: {key: value, ...}" with a comment; a line a key where one does not hold them.
[[nodiscard]] std::string SectionLines(const std::string& name, const Fields& fields,
                                       const std::string& comment);

}  // namespace tpuest::cli
