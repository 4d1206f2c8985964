#include "server/length_scan/value_sizes_file.h"

#include <utility>

#include "server/base/status.h"
#include "server/dataset/index_file.h"

namespace forebay::length_scan {
namespace {

constexpr dataset::IndexFileType kType = {
    {'F', 'B', 'Y', 'S', 'I', 'Z', 'E', 'S'}, 1, 0};

// The start of the file. After it come the items (u64), the rates (u32) and a
// checksum.
struct Header {
  dataset::IndexFileType type;
  dataset::Version samples;  // identifies the measured samples
  std::uint64_t items;       // number of items
  std::uint64_t rates;       // number of rates
};
static_assert(sizeof(Header) == 48);

}  // namespace

std::string EncodeValueSizes(const ValueSizes& sizes,
                             const dataset::Version& samples) {
  const ValueSizesParts& parts = sizes.parts();
  const Header header = {.type = kType,
                         .samples = samples,
                         .items = parts.items.size(),
                         .rates = parts.rates.size()};
  std::string bytes;
  bytes.reserve(sizeof(header) + header.items * sizeof(std::uint64_t) +
                header.rates * sizeof(std::uint32_t) +
                dataset::kIndexFileChecksumBytes);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  dataset::AppendItems(bytes, parts.items);
  dataset::AppendItems(bytes, parts.rates);
  dataset::SealIndexFile(bytes);
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ValueSizes>> DecodeValueSizes(
    dataset::IndexFileReader& file, const dataset::Version& samples,
    std::uint64_t count, base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const Header header, file.TakeHeader<Header>(kType));
  // The file is intact, but its dataset has changed.
  if (header.samples != samples || header.items != count)
    return absl::NotFoundError("is of other samples than there are now");
  ValueSizesParts parts;
  // The items and the rates take as many bytes in memory as in the file.
  FOREBAY_ASSIGN_OR_RETURN(parts.reservation, memory.Keep(file.left()));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.items, &parts.items));
  FOREBAY_RETURN_IF_ERROR(file.TakeItems(header.rates, &parts.rates));
  FOREBAY_RETURN_IF_ERROR(file.Finish());
  return ValueSizes::Create(std::move(parts));
}

}  // namespace forebay::length_scan
