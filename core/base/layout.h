// Text for people: counts, tables, paragraphs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ruleengine {

// "1 match", "2 matches". Without `many`, an "s" is added.
std::string counted(std::size_t count, std::string_view one,
                    std::string_view many = {});

// Aligned columns, the first row is the heading; numbers are aligned right.
// Cells are made printable. With `columns`, cells are wrapped to fit into as
// many.
std::string table(const std::vector<std::vector<std::string>>& rows,
                  std::size_t columns = 0);
// Breaks at blanks into lines of at most 116 columns, the first one indented by
// `indent`, further ones by `further`.
std::string folded(std::string_view text, std::size_t indent,
                   std::size_t further);

// Indents every line.
std::string indented(std::string_view lines, std::size_t by);

}  // namespace ruleengine
