#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/estimator/step/media_summaries.h"

namespace tpuest {
namespace {

constexpr int64_t kBytes = 2;  // of a sample

void Append(std::string& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i) & 0xFFU);
}

// The nearest of 2^15 steps to 1, halves away from 0.
int16_t SampleOf(float value) {
  if (std::isnan(value)) return 0;
  constexpr float kLoudest = 32768;
  constexpr float kMost = std::numeric_limits<int16_t>::max();
  constexpr float kLeast = std::numeric_limits<int16_t>::min();
  return static_cast<int16_t>(std::clamp(std::round(value * kLoudest), kLeast, kMost));
}

// A RIFF file of PCM: the header of 44 bytes, then frame after frame, each a sample a channel.
std::string WavOf(const float* samples, int64_t frames, int64_t channels, int64_t rate) {
  constexpr int64_t kHeader = 44;
  constexpr int kWord = 4;
  const int64_t bytes = frames * channels * kBytes;
  std::string wav = "RIFF";
  Append(wav, static_cast<uint64_t>(kHeader - 8 + bytes), kWord);
  wav += "WAVEfmt ";
  Append(wav, 16, kWord);  // bytes of this part
  Append(wav, 1, 2);       // PCM
  Append(wav, static_cast<uint64_t>(channels), 2);
  Append(wav, static_cast<uint64_t>(rate), kWord);
  Append(wav, static_cast<uint64_t>(rate * channels * kBytes), kWord);
  Append(wav, static_cast<uint64_t>(channels * kBytes), 2);
  Append(wav, 8 * kBytes, 2);
  wav += "data";
  Append(wav, static_cast<uint64_t>(bytes), kWord);
  for (int64_t i = 0; i < frames * channels; ++i) {
    Append(wav, static_cast<uint16_t>(SampleOf(samples[i])), kBytes);
  }
  return wav;
}

}  // namespace

std::vector<SummaryValue> AudioSummaries(const std::string& tag, const Tensor& sounds, int64_t most,
                                         float sample_rate) {
  const Shape& shape = sounds.shape();
  const int64_t frames = shape.dim(1);
  const int64_t channels = shape.rank() == 3 ? shape.dim(2) : 1;
  std::vector<SummaryValue> summaries;
  for (int64_t i = 0; i < std::min(most, shape.dim(0)); ++i) {
    const float* const samples = sounds.data<float>() + i * frames * channels;
    summaries.push_back(
        {.tag = most == 1 ? tag + "/audio" : fmt::format("{}/audio/{}", tag, i),
         .value = AudioData{.sample_rate = sample_rate,
                            .channels = channels,
                            .frames = frames,
                            .encoded = WavOf(samples, frames, channels, std::lrint(sample_rate)),
                            .content_type = "audio/wav"}});
  }
  return summaries;
}

}  // namespace tpuest
