#include "core/estimator/step/model/media_summaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/io/images/image.h"

namespace tpuest {
namespace {

constexpr float kNoRange = 1e-6F;  // if the range is smaller, all pixels are 0

// TensorFlow's NormalizeFloatImage.
void Stretch(const float* from, DecodedImage& image) {
  const size_t count = image.pixels.size();
  float least = std::numeric_limits<float>::infinity();
  float most = -least;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(from[i])) continue;
    least = std::min(least, from[i]);
    most = std::max(most, from[i]);
  }
  const bool is_signed = least < 0;
  const float reach = is_signed ? std::max(std::abs(least), std::abs(most)) : most;
  const float scale = reach < kNoRange ? 0 : (is_signed ? 127.0F : 255.0F) / reach;
  const float offset = is_signed ? 128.0F : 0.0F;
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t pixel = 0; pixel < count; pixel += channels) {
    const bool is_finite = std::all_of(from + pixel, from + pixel + channels,
                                       [](float value) { return std::isfinite(value); });
    for (size_t c = 0; c < channels; ++c) {
      constexpr uint8_t kRed[] = {255, 0, 0, 255};
      image.pixels[pixel + c] =
          is_finite ? static_cast<uint8_t>(from[pixel + c] * scale + offset) : kRed[c];
    }
  }
}

constexpr int64_t kBytes = 2;  // bytes per sample

void Append(std::string& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(number >> (8 * i) & 0xFFU);
}

// Rounds to the nearest of 2^15 steps up to 1, halves away from 0.
int16_t SampleOf(float value) {
  if (std::isnan(value)) return 0;
  constexpr float kLoudest = 32768;
  constexpr float kMost = std::numeric_limits<int16_t>::max();
  constexpr float kLeast = std::numeric_limits<int16_t>::min();
  return static_cast<int16_t>(std::clamp(std::round(value * kLoudest), kLeast, kMost));
}

// A RIFF file of PCM: a header of 44 bytes, then the frames, each with one sample per channel.
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

std::vector<SummaryValue> ImageSummaries(const std::string& tag, const Tensor& images,
                                         int64_t most) {
  const bool as_bytes = images.dtype() == DType::kUint8;
  const Tensor real = as_bytes ? images : images.Cast(DType::kFloat);
  const Shape& shape = images.shape();
  std::vector<SummaryValue> summaries;
  DecodedImage image;
  image.Resize(shape.dim(1), shape.dim(2), shape.dim(3));
  const auto size = static_cast<int64_t>(image.pixels.size());
  for (int64_t i = 0; i < std::min(most, shape.dim(0)); ++i) {
    if (as_bytes) {
      std::copy_n(images.data<uint8_t>() + i * size, size, image.pixels.begin());
    } else {
      Stretch(real.data<float>() + i * size, image);
    }
    summaries.push_back({.tag = most == 1 ? tag + "/image" : fmt::format("{}/image/{}", tag, i),
                         .value = ImageData{.height = static_cast<int>(image.height),
                                            .width = static_cast<int>(image.width),
                                            .channels = static_cast<int>(image.channels),
                                            .encoded = EncodePng(image)}});
  }
  return summaries;
}

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
