#pragma once
// Paths with a scheme, such as gs://bucket/run. tpuest cannot read them; as local paths they would
// name a folder `gs:`.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

// The scheme of a path: "gs" of gs://bucket/run; nullopt for a path of this machine.
[[nodiscard]] std::optional<std::string> SchemeOf(std::string_view path);

// The message about such a path, and the hint.
struct SchemeRefusal {
  std::string message;
  std::string hint;
};
// nullopt for a path of this machine.
[[nodiscard]] std::optional<SchemeRefusal> RefusalOfScheme(std::string_view path);

}  // namespace tpuest
