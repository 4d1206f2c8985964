#ifndef FOREBAY_TOOLS_FOREBAYCTL_CONTACT_SHEET_H_
#define FOREBAY_TOOLS_FOREBAYCTL_CONTACT_SHEET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/forebayctl/admin_client.h"

namespace forebay::ctl {

// An image of 8-bit RGB pixels, row by row from the top.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb;  // 3 * width * height
};

// The images of a batch as one picture: a grid, filled row by row.
struct ContactSheet {
  Picture picture;
  std::size_t columns = 0;  // images in a row
  // The name of each image's class, or its label where the class has no name,
  // in order. Empty if the batch has no labels.
  std::vector<std::string> labels;
};

// Draws the first `max_images` images of `batch`, undoing the pipeline's
// Normalize and ToDtype. Only every nth pixel of large images is drawn, so that
// a sheet of at most 2730 by 2730 images has at most 8192 pixels a side. One
// column is drawn of an image that is narrower than n pixels, so it seems too
// wide. Thread-safe; does not block. INVALID_ARGUMENT: the batch has no images
// of one or three channels.
absl::StatusOr<ContactSheet> DrawContactSheet(const PeekedBatch& batch,
                                              std::size_t max_images);

// Writes a picture as a PNG file. Thread-safe. Blocks for file I/O.
// UNAVAILABLE: the file cannot be written; the message names the path.
absl::Status WritePng(const Picture& picture, const std::string& path);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_CONTACT_SHEET_H_
