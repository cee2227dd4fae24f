#pragma once
// tpuest inspect shows an image, and a folder of images.

#include <string>

#include "cli/look/inspect/invocation.h"

namespace tpuest::cli {

// Prints format and size of an image; --json: {kind: "image", path, format, height, width,
// channels, bits, bytes, notes}. The exit code: with --verify 3 for one that cannot be decoded,
// else 0.
int ShowImage(const InspectInvocation& invocation, const std::string& path);

// Prints how many images of which sizes are in which class's folder, which cannot be read, and the
// source that reads them; --json: {kind: "images", path, images, classes, formats, heights, widths,
// misnamed, damaged}. Headers alone are read; with --verify every image is decoded. The exit code
// is 3 where one is damaged and --verify was given, else 0.
int ShowImageFolder(const InspectInvocation& invocation, const std::string& path);

}  // namespace tpuest::cli
