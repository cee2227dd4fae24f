#pragma once
// The positions of crops, as TensorFlow's functions compute them.

#include "core/io/images/image.h"
#include "data/image_options.h"
#include "data/images/picture.h"
#include "data/images/record_key.h"

namespace tpuest::data {

// tf.image.sample_distorted_bounding_box with the whole image as the box; returns the whole image
// if no attempt fits. Draws four numbers per attempt.
[[nodiscard]] CropWindow SampleDistortedBox(const DistortedBox& box, int64_t height, int64_t width,
                                            Draws& draws);
// The middle square for evaluation: image_size / (image_size + crop_padding) of the shorter side.
[[nodiscard]] CropWindow EvaluationCrop(int64_t image_size, int64_t crop_padding, int64_t height,
                                        int64_t width);
// tf.image.central_crop along one side: begin and size.
[[nodiscard]] std::pair<int64_t, int64_t> CentralPart(int64_t size, double fraction);
// image_dataset_from_directory's crop_to_aspect_ratio.
[[nodiscard]] CropWindow AspectCrop(int64_t height, int64_t width, int64_t to_height,
                                    int64_t to_width);

// Cuts the window out of the picture.
void Crop(const CropWindow& window, Picture& picture);
// Pads the picture with zeros to this size, with the picture at (y, x).
void PadTo(int64_t height, int64_t width, int64_t y, int64_t x, Picture& picture,
           PictureScratch& scratch);
// The pixel mapping of tf.image.resize and of its version 1.
struct Resizing {
  std::string_view method = "bilinear";  // one of ResizeMethods()
  bool antialias = false;
  bool half_pixel_centers = true;  // false: version 1's
};
void ResizeTo(int64_t height, int64_t width, const Resizing& how, Picture& picture,
              PictureScratch& scratch);

}  // namespace tpuest::data
