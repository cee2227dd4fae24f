#pragma once
// How a stream finds the position that a run goes on from, for the log.

#include <string_view>

#include "core/estimator/contract/contract.h"

namespace tpuest {

class TellsSeekWay {
 public:
  TellsSeekWay() = default;
  virtual ~TellsSeekWay() = default;
  TellsSeekWay(const TellsSeekWay&) = delete;
  TellsSeekWay& operator=(const TellsSeekWay&) = delete;
  // What is done again up to the position; "" where the stream begins there at once.
  [[nodiscard]] virtual std::string_view seek_way() const = 0;
};

[[nodiscard]] inline std::string_view SeekWayOf(const BatchStream& stream) {
  const auto* const tells = dynamic_cast<const TellsSeekWay*>(&stream);
  return tells == nullptr ? std::string_view() : tells->seek_way();
}

}  // namespace tpuest
