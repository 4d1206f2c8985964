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

// An 8-bit RGB image, rows from the top.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> rgb;  // 3 * width * height
};

// The batch's images as pictures, in a grid that is read line by line.
struct ContactSheet {
  Picture picture;
  std::size_t columns = 0;
  // Each image's class, else its label, in order. Empty if the batch has no
  // labels.
  std::vector<std::string> labels;
};

// Lays out the first `max_images` images of `batch`, undoing the pipeline's
// Normalize and ToDtype. Shows every nth pixel of large images, so that the
// sheet stays below 8192 pixels a side. Thread-safe; does not block.
// INVALID_ARGUMENT: the batch has no images of one or three channels.
absl::StatusOr<ContactSheet> DrawContactSheet(const PeekedBatch& batch,
                                              std::size_t max_images);

// Writes a PNG file. Blocks for file I/O; the error names the path.
absl::Status WritePng(const Picture& picture, const std::string& path);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_CONTACT_SHEET_H_
