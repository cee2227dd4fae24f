#pragma once
// How a stream reaches the position that a run resumes from, for the log.

#include <string_view>

#include "core/estimator/contract/contract.h"

namespace tpuest {

class TellsSeekWay {
 public:
  TellsSeekWay() = default;
  virtual ~TellsSeekWay() = default;
  TellsSeekWay(const TellsSeekWay&) = delete;
  TellsSeekWay& operator=(const TellsSeekWay&) = delete;
  // Describes what is repeated up to the position; "" if the stream starts there at once.
  [[nodiscard]] virtual std::string_view seek_way() const = 0;
};

[[nodiscard]] inline std::string_view SeekWayOf(const BatchStream& stream) {
  const auto* const tells = dynamic_cast<const TellsSeekWay*>(&stream);
  return tells == nullptr ? std::string_view() : tells->seek_way();
}

}  // namespace tpuest
