#include "server/session/awaited_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/dataset/spec_contents.h"
#include "server/session/spec_inputs.h"
#include "server/storage/root_opener.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::session {
namespace {

// The most bytes of a text that is kept as it is.
constexpr std::size_t kMaxStoredText = 512;
// The number of bytes that are read from a descriptor's file in /proc. The
// mount's number is near the front.
constexpr std::size_t kEntryBytes = 256;

// Returns the text as Abseil's own type, which its functions take.
absl::string_view Text(std::string_view text) {
  return {text.data(), text.size()};
}

// Returns the text. If the text is long, returns its beginning and a digest of
// the whole, so that different texts stay different.
std::string Bounded(std::string_view text) {
  if (text.size() <= kMaxStoredText) return std::string(text);
  return absl::StrCat(Text(text.substr(0, kMaxStoredText)), "...",
                      absl::Hex(XXH3_64bits(text.data(), text.size())));
}

// Returns the number of the mount that a descriptor's file is on, as text;
// empty if it is unknown. The kernel answers /proc/self/fdinfo (proc(5)) from
// its own tables: it never asks the file system, which may hang.
std::string MountNumber(int descriptor) {
  const std::string path = absl::StrCat("/proc/self/fdinfo/", descriptor);
  const base::Fd entry(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[kEntryBytes];
  const ssize_t size = read(entry.get(), bytes, sizeof(bytes));
  if (size <= 0) return "";
  const std::string_view text(bytes, static_cast<std::size_t>(size));
  constexpr std::string_view kName = "mnt_id:";
  const std::size_t name = text.find(kName);
  if (name == text.npos) return "";
  const std::string_view rest = text.substr(name + kName.size());
  const std::size_t begin =
      std::min(rest.find_first_not_of(" \t"), rest.size());
  const std::string_view number = rest.substr(begin);
  return std::string(number.substr(0, number.find_first_not_of("0123456789")));
}

}  // namespace

std::string HostOf(std::string_view url) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t scheme = std::min(url.find(kSeparator), url.size());
  const std::size_t begin = std::min(scheme + kSeparator.size(), url.size());
  std::string_view authority = url.substr(begin);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  // The last "@" ends the user information, because careless users leave an "@"
  // in a password unescaped.
  const std::size_t user = authority.rfind('@');
  if (user != authority.npos) authority.remove_prefix(user + 1);
  std::string host = absl::StrCat(Text(url.substr(0, begin)), Text(authority));
  absl::AsciiStrToLower(&host);
  return Bounded(host);
}

// If a descriptor came with a remote URI, the place is the descriptor's local
// folder.
AwaitedPlace PlaceOf(std::string_view uri, int directory) {
  AwaitedPlace place;
  place.uri = Bounded(uri);
  if (directory < 0 && storage::IsRemoteUri(uri)) {
    place.host = HostOf(uri);
    place.group = place.host;
    return place;
  }
  constexpr std::string_view kFile = "file://";
  if (place.uri.starts_with(kFile)) place.uri.erase(0, kFile.size());
  const std::string mount = MountNumber(directory);
  place.group = mount.empty() ? place.uri : absl::StrCat("mount ", mount);
  return place;
}

std::optional<AwaitedPlace> PlaceOf(const proto::DatasetSpec& spec,
                                    absl::Span<const base::Fd> fds) {
  if (dataset::HasRoot(spec)) {
    const std::size_t memories = HasMemory(spec) ? 1 : 0;
    return PlaceOf(spec.uri(), fds.size() > memories ? fds[0].get() : -1);
  }
  for (const proto::DatasetSpec* const part : dataset::PartsOf(spec)) {
    const std::size_t own =
        std::min<std::size_t>(part->descriptors(), fds.size());
    auto place = PlaceOf(*part, fds.first(own));
    if (place.has_value()) return place;
    fds.remove_prefix(own);
  }
  return std::nullopt;
}

}  // namespace forebay::session
