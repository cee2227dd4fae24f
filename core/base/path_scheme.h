#pragma once
// Paths with a scheme, as gs://bucket/run: nothing here reads them, and as a path of this machine
// they name a folder `gs:`.

#include <optional>
#include <string>
#include <string_view>

namespace tpuest {

// The scheme of a path: "gs" of gs://bucket/run; nullopt for a path of this machine.
[[nodiscard]] std::optional<std::string> SchemeOf(std::string_view path);

// The message about such a path, and the way out.
struct SchemeRefusal {
  std::string message;
  std::string hint;
};
// nullopt for a path of this machine.
[[nodiscard]] std::optional<SchemeRefusal> RefusalOfScheme(std::string_view path);

}  // namespace tpuest
