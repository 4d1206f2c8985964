#include "server/dataset/shards/field_kind.h"

#include <algorithm>
#include <iterator>

#include "server/dataset/shards/gzip_member.h"

namespace forebay::dataset::shards {
namespace {

using proto::FieldKind;

struct ExtensionKind {
  std::string_view extension;
  FieldKind kind;
};
// The known extensions. A member with any other extension is bytes.
constexpr ExtensionKind kExtensionKinds[] = {
    {"jpg", FieldKind::kImage},       {"jpeg", FieldKind::kImage},
    {"png", FieldKind::kImage},       {"webp", FieldKind::kImage},
    {"gif", FieldKind::kImage},       {"bmp", FieldKind::kImage},
    {"tif", FieldKind::kImage},       {"tiff", FieldKind::kImage},
    {"ppm", FieldKind::kImage},       {"pgm", FieldKind::kImage},
    {"pbm", FieldKind::kImage},       {"pnm", FieldKind::kImage},
    {"avif", FieldKind::kImage},      {"cls", FieldKind::kLabel},
    {"cls2", FieldKind::kLabel},      {"class", FieldKind::kLabel},
    {"count", FieldKind::kLabel},     {"index", FieldKind::kLabel},
    {"inx", FieldKind::kLabel},       {"id", FieldKind::kLabel},
    {"txt", FieldKind::kText},        {"text", FieldKind::kText},
    {"transcript", FieldKind::kText}, {"json", FieldKind::kJson},
    {"jsn", FieldKind::kJson},        {"npy", FieldKind::kArray},
    {"wav", FieldKind::kAudio},       {"flac", FieldKind::kAudio},
    {"ogg", FieldKind::kAudio},       {"opus", FieldKind::kAudio},
    {"mp3", FieldKind::kAudio},
};

}  // namespace

FieldKind KindOf(std::string_view extension) {
  if (IsGzipped(extension))
    extension.remove_suffix(std::min<std::size_t>(extension.size(), 3));
  const std::string_view last = extension.substr(extension.rfind('.') + 1);
  const auto* const known = std::find_if(
      std::begin(kExtensionKinds), std::end(kExtensionKinds),
      [last](const ExtensionKind& one) { return one.extension == last; });
  return known == std::end(kExtensionKinds) ? FieldKind::kBytes : known->kind;
}

}  // namespace forebay::dataset::shards
