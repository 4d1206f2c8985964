#include "tools/forebayctl/contact_sheet.h"

#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/shm_layout.h"
#include "tools/forebayctl/denormalize.h"

namespace forebay::ctl {
namespace {

using Field = proto::PeekChunk::Field;

constexpr std::uint64_t kGap = 2;  // pixels around each image
constexpr std::uint8_t kBackground = 32;
constexpr std::uint64_t kMaxSide = 8192;  // pixels of the sheet

// The layout of one field's images in memory; strides are in elements.
struct ImageLayout {
  std::uint64_t count = 0, channels = 0, height = 0, width = 0;
  std::uint64_t image_stride = 0, channel_stride = 0;
  std::uint64_t row_stride = 0, column_stride = 0;
};

const Field* FindField(const PeekedBatch& batch, const std::string& kind) {
  for (const Field& field : batch.layout.fields()) {
    if (field.kind() == kind) return &field;
  }
  return nullptr;
}

// Returns whether the pipeline's images have their channels last.
bool IsNhwc(const proto::PipelineSpec& pipeline) {
  bool nhwc = false;
  for (const proto::Op& op : pipeline.ops()) {
    if (op.has_to_image()) {
      nhwc = op.to_image().layout() == proto::ToImage::NHWC;
    }
  }
  return nhwc;
}

// Returns the layout of a field's images, whose shape is (images, channels,
// height, width) or (images, height, width, channels).
absl::StatusOr<ImageLayout> LayoutOf(const Field* field,
                                     const proto::PipelineSpec& pipeline) {
  if (field == nullptr || field->shape_size() != 4) {
    return absl::InvalidArgumentError("the batch has no images to show");
  }
  ImageLayout layout;
  layout.count = field->shape(0);
  if (IsNhwc(pipeline)) {
    layout.height = field->shape(1);
    layout.width = field->shape(2);
    layout.channels = field->shape(3);
    layout.channel_stride = 1;
    layout.column_stride = layout.channels;
    layout.row_stride = layout.width * layout.channels;
  } else {
    layout.channels = field->shape(1);
    layout.height = field->shape(2);
    layout.width = field->shape(3);
    layout.column_stride = 1;
    layout.row_stride = layout.width;
    layout.channel_stride = layout.width * layout.height;
  }
  layout.image_stride = layout.channels * layout.height * layout.width;
  if (layout.channels != 1 && layout.channels != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("images of ", layout.channels,
                     " channels cannot be shown as pictures"));
  }
  if (layout.image_stride == 0 || layout.count == 0) {
    return absl::InvalidArgumentError("the batch has no images to show");
  }
  return layout;
}

// The steps at which an image's pixels are drawn: every `x`th column of every
// `y`th row.
struct Steps {
  std::uint64_t x = 1, y = 1;
};

// Returns the steps at which no side of a sheet with `columns` images in a row
// exceeds kMaxSide. A sheet has at most as many rows as columns. At least one
// row and one column of each image are drawn.
Steps StepsOf(const ImageLayout& layout, std::uint64_t columns) {
  const std::uint64_t cell = (kMaxSide - kGap) / columns;
  const std::uint64_t room = cell > kGap ? cell - kGap : 1;
  const std::uint64_t step =
      std::max(layout.width, layout.height) / (room + 1) + 1;
  return {.x = std::min(step, layout.width),
          .y = std::min(step, layout.height)};
}

// Draws the pixels of one image that `steps` selects into the picture, from
// (left, top) on. A grey value is drawn as all three colours.
void DrawImage(const char* image, const ImageLayout& layout,
               proto::DataType dtype, const Denormalize& denormalize,
               const Steps& steps, std::uint64_t left, std::uint64_t top,
               Picture* picture) {
  const std::uint64_t element = proto::SizeOf(static_cast<proto::DType>(dtype));
  for (std::uint64_t y = 0; y < layout.height / steps.y; ++y) {
    std::uint8_t* out =
        picture->rgb.data() + 3 * ((top + y) * picture->width + left);
    for (std::uint64_t x = 0; x < layout.width / steps.x; ++x) {
      for (std::uint64_t c = 0; c < 3; ++c) {
        const std::uint64_t channel = layout.channels == 3 ? c : 0;
        const char* value =
            image + element * (y * steps.y * layout.row_stride +
                               x * steps.x * layout.column_stride +
                               channel * layout.channel_stride);
        *out++ = denormalize.Apply(LoadValue(value, dtype), channel);
      }
    }
  }
}

// Returns the labels of the first `count` samples: the class's name if it has
// one, else the number.
std::vector<std::string> Labels(const PeekedBatch& batch, std::size_t count) {
  std::vector<std::string> labels;
  const Field* field = FindField(batch, "label");
  if (field == nullptr || field->shape_size() != 1 ||
      field->dtype() != proto::INT64) {
    return labels;
  }
  for (std::size_t i = 0; i < count && i < field->shape(0); ++i) {
    std::int64_t label;
    std::memcpy(&label, batch.data.data() + field->offset() + 8 * i,
                sizeof(label));
    labels.push_back(label >= 0 && label < batch.layout.classes_size()
                         ? batch.layout.classes(static_cast<int>(label))
                         : absl::StrCat(label));
  }
  return labels;
}

}  // namespace

// The grid is as nearly square as the number of images allows. All images of a
// batch have the same size, so the steps by which pixels are left out are the
// same for all.
absl::StatusOr<ContactSheet> DrawContactSheet(const PeekedBatch& batch,
                                              std::size_t max_images) {
  const absl::Status checked = CheckBatch(batch);
  if (!checked.ok()) return checked;
  const Field* field = FindField(batch, "image");
  const absl::StatusOr<ImageLayout> layout =
      LayoutOf(field, batch.layout.pipeline());
  if (!layout.ok()) return layout.status();
  const std::uint64_t count =
      std::clamp<std::uint64_t>(max_images, 1, layout->count);
  const auto columns = static_cast<std::uint64_t>(
      std::ceil(std::sqrt(static_cast<double>(count))));
  const std::uint64_t rows = (count + columns - 1) / columns;

  const Steps steps = StepsOf(*layout, columns);
  const std::uint64_t width = layout->width / steps.x;
  const std::uint64_t height = layout->height / steps.y;

  ContactSheet sheet;
  sheet.columns = columns;
  sheet.labels = Labels(batch, count);
  sheet.picture.width = columns * (width + kGap) + kGap;
  sheet.picture.height = rows * (height + kGap) + kGap;
  sheet.picture.rgb.assign(
      std::size_t{3} * sheet.picture.width * sheet.picture.height, kBackground);
  const Denormalize denormalize(batch.layout.pipeline(), layout->channels);
  const std::uint64_t element =
      field->bytes() / (layout->count * layout->image_stride);
  for (std::uint64_t i = 0; i < count; ++i) {
    DrawImage(batch.data.data() + field->offset() +
                  i * layout->image_stride * element,
              *layout, field->dtype(), denormalize, steps,
              kGap + i % columns * (width + kGap),
              kGap + i / columns * (height + kGap), &sheet.picture);
  }
  return sheet;
}

absl::Status WritePng(const Picture& picture, const std::string& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = picture.width;
  image.height = picture.height;
  image.format = PNG_FORMAT_RGB;
  // png_image_write_to_file removes a file that it cannot write, even a device.
  // The file is therefore opened here.
  FILE* const file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
  }
  errno = 0;
  const bool written =
      png_image_write_to_stdio(&image, file, /*convert_to_8_bit=*/0,
                               picture.rgb.data(), /*row_stride=*/0,
                               /*colormap=*/nullptr) != 0;
  const bool closed = std::fclose(file) == 0;
  if (written && closed) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(path, " cannot be written: ",
                   errno == 0 ? image.message : std::strerror(errno)));
}

}  // namespace forebay::ctl
