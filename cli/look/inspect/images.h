#pragma once
// tpuest inspect shows an image, and a folder of images.

#include <string>

#include "cli/look/inspect/invocation.h"

namespace tpuest::cli {

// Prints format and size of an image; --json: {kind: "image", path, format, height, width,
// channels, bits, bytes, notes}. Returns exit code 3 with --verify if the image cannot be decoded,
// otherwise 0.
int ShowImage(const InspectInvocation& invocation, const std::string& path);

// Prints how many images of which sizes are in which class's folder, which cannot be read, and the
// source that reads them; --json: {kind: "images", path, images, classes, formats, heights, widths,
// misnamed, damaged}. Reads only headers; with --verify decodes every image. Returns exit code 3 if
// --verify finds a damaged image, otherwise 0.
int ShowImageFolder(const InspectInvocation& invocation, const std::string& path);

}  // namespace tpuest::cli
