#include "server/session/spec_memfd.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/canonical_spec.h"
#include "server/session/message_size.h"

namespace forebay::session {
namespace {

// The most bytes of a spec, and the number of copies of its parsed form that
// exist until the loader is open.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
constexpr std::uint64_t kCopies = 4;

// Returns the content of a memfd. The memfd is read and not mapped, because it
// is not sealed: the client could shrink it, and an access to a mapping would
// then fault.
absl::StatusOr<std::string> ReadAll(int fd, base::WorkingMemory& memory) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the spec's memfd is none, or larger than ", kMaxBytes, " bytes"));
  }
  FOREBAY_RETURN_IF_ERROR(
      memory.Grow(static_cast<std::uint64_t>(status.st_size)));
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (pread(fd, bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    return absl::InvalidArgumentError(
        "the spec's memfd shrank while it was read");
  }
  return bytes;
}

}  // namespace

absl::StatusOr<proto::LoaderSpec> SpecFromMemfd(int fd,
                                                base::WorkingMemory& memory) {
  FOREBAY_ASSIGN_OR_RETURN(const std::string bytes, ReadAll(fd, memory));
  const auto size = ParsedSize(bytes, proto::LoaderSpec::descriptor());
  if (!size.ok())
    return base::Annotate(size.status(), "the memfd holds no loader's spec");
  FOREBAY_RETURN_IF_ERROR(memory.Grow(kCopies * *size));
  proto::LoaderSpec spec;
  if (!spec.ParseFromString(bytes)) {
    return absl::InvalidArgumentError("the memfd holds no loader's spec");
  }
  return spec;
}

absl::StatusOr<proto::LoaderSpec> WithCanonicalDataset(proto::LoaderSpec spec) {
  proto::DatasetSpec& dataset = *spec.mutable_dataset();
  FOREBAY_ASSIGN_OR_RETURN(dataset, dataset::CanonicalSpec(std::move(dataset)));
  return spec;
}

}  // namespace forebay::session
