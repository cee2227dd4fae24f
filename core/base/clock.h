#pragma once
// Time, passed in so that tests can set it.

namespace tpuest {

class Clock {
 public:
  virtual ~Clock() = default;
  // Seconds since the Unix epoch.
  [[nodiscard]] virtual double WallSeconds() const = 0;
  // Seconds since some fixed moment; never goes back.
  [[nodiscard]] virtual double Seconds() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] double WallSeconds() const override;
  [[nodiscard]] double Seconds() const override;
};

}  // namespace tpuest
