#include "server/session/dataset_description.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/session/socket.h"

namespace forebay::session {
namespace {

// The most bytes of class names that travel in the message. The other fields,
// warnings included, have the 8192 bytes that are left.
constexpr std::size_t kMaxInlineClasses = kMaxMessage - 8192;
constexpr int kMaxWarnings = 8;
constexpr std::size_t kMaxWarningBytes = 4096;  // of all warnings together

// Returns a memfd with `bytes`.
absl::StatusOr<base::Fd> ToMemfd(const std::string& bytes) {
  base::Fd fd(memfd_create("forebay-classes", MFD_CLOEXEC));
  if (!fd) return base::ErrnoStatus(errno, "creating shared memory");
  if (write(fd.get(), bytes.data(), bytes.size()) !=
      static_cast<ssize_t>(bytes.size())) {
    return base::ErrnoStatus(errno, "writing class names");
  }
  return fd;
}

// Fills the fields about a dataset that both LoaderOpened and ReaderOpened
// have. Memory for the class names is counted twice in the budget, as strings
// and as bytes.
template <typename Opened>
absl::Status Fill(const dataset::Dataset& dataset, base::MemoryBudget* budget,
                  Opened& opened, std::vector<base::Fd>& fds) {
  base::WorkingMemory memory(budget, "the names of its classes");
  std::uint64_t bytes = 0;
  for (const std::string& name : dataset.classes())
    bytes += 2 * (name.size() + sizeof(std::string)) + base::HeapBytes(0);
  const absl::Status counted = memory.Grow(bytes);
  if (!counted.ok()) return base::Annotate(counted, dataset.uri());
  proto::ClassList classes;
  for (const std::string& name : dataset.classes()) classes.add_names(name);
  if (classes.ByteSizeLong() > kMaxInlineClasses) {
    FOREBAY_ASSIGN_OR_RETURN(base::Fd memfd,
                             ToMemfd(classes.SerializeAsString()));
    fds.push_back(std::move(memfd));
    opened.set_classes_in_memfd(true);
  } else {
    *opened.mutable_classes() = std::move(classes);
  }
  const dataset::Version& version = dataset.version();
  opened.set_dataset_version(std::string(version.begin(), version.end()));
  opened.set_dataset_size(dataset.size());
  return absl::OkStatus();
}

}  // namespace

absl::Status Describe(const dataset::Dataset& dataset,
                      base::MemoryBudget* budget, proto::LoaderOpened& opened,
                      std::vector<base::Fd>& fds) {
  return Fill(dataset, budget, opened, fds);
}

absl::Status Describe(const dataset::Dataset& dataset,
                      base::MemoryBudget* budget, proto::ReaderOpened& opened,
                      std::vector<base::Fd>& fds) {
  return Fill(dataset, budget, opened, fds);
}

void AddWarnings(const std::vector<std::string>& warnings,
                 proto::ReaderOpened& opened) {
  std::size_t room = kMaxWarningBytes;
  for (const std::string& warning : warnings) {
    if (opened.warnings_size() == kMaxWarnings || warning.size() > room) return;
    opened.add_warnings(warning);
    room -= warning.size();
  }
}

}  // namespace forebay::session
